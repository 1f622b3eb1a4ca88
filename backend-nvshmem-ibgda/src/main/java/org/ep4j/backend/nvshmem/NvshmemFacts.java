package org.ep4j.backend.nvshmem;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.ep4j.spi.RankProfile;

/** Facts that a probe sends to the other ranks. */
final class NvshmemFacts {
    /** Version of NVSHMEM; none where a machine is known by description. */
    static final String VERSION = "version";

    /** Setting {@link NvshmemKeys#TRANSPORT}. */
    static final String TRANSPORT = "transport";

    /** Setting {@link NvshmemKeys#MAPS}. */
    static final String MAPS = "maps";

    /** Identity: the process. */
    static final String PROCESS = "process";

    /** Identity: the machine, also where hosts are made up on it. */
    static final String MACHINE = "machine";

    /** Identity: the GPU, which processes may share; missing where its place is not known. */
    static final String GPU = "gpu";

    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private NvshmemFacts() {}

    static String fact(RankProfile rank, String name) {
        return rank.facts(NvshmemProvider.ID).getOrDefault(name, "");
    }

    static boolean same(RankProfile a, RankProfile b, String name) {
        Map<String, String> mine = a.identity(NvshmemProvider.ID);
        Map<String, String> theirs = b.identity(NvshmemProvider.ID);
        return mine.containsKey(name) && mine.get(name).equals(theirs.get(name));
    }

    /** Returns the boot id, which names this machine until it is started again; empty if it cannot be read. */
    static String machine() {
        try {
            return Files.readString(BOOT_ID, StandardCharsets.US_ASCII).trim();
        } catch (IOException | SecurityException e) {
            return "";
        }
    }
}
