package org.ep4j.backend.nvlink;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.plan.RankProfile;

/**
 * What a rank tells the others about its GPU. GPUs go by their PCI addresses, which are the same for all processes and
 * containers of a host; numbers of GPUs are not.
 */
final class NvlinkFacts {
    /** PCI address of the rank's GPU. */
    static final String GPU = "gpu";

    /** GPUs that the rank's process may use, also those that CUDA_VISIBLE_DEVICES hides: {@code 0=0000:18:00.0,...}. */
    static final String GPUS = "gpus";

    /** GPUs to which CUDA denies the rank's GPU access. */
    static final String DENIED = "denied";

    /** GPUs on which the rank's GPU can do atomic operations: a sign of NVLink where nothing else tells. */
    static final String ATOMICS = "atomics";

    /** Whether memory can be shared with other processes. */
    static final String INTERPROCESS = "interprocess";

    /** Whether memory can be shared with other hosts of the NVLink domain. */
    static final String FABRIC = "fabric";

    /** Architecture of the GPU, {@code sm_90}. */
    static final String ARCHITECTURE = "architecture";

    /** Identity: the process; ranks with the same one use addresses. */
    static final String PROCESS = "process";

    /** Identity: effective user id. */
    static final String USER = "user";

    /** Identity: PID namespace. */
    static final String PIDS = "pid-namespace";

    static final String YES = "yes";
    static final String NO = "no";

    private NvlinkFacts() {}

    /** A fact; empty when the rank did not report it. */
    static String fact(RankProfile rank, String name) {
        return rank.facts(IpcNvlinkProvider.ID).getOrDefault(name, "");
    }

    /** True when both ranks have an identity of that name, and the same. */
    static boolean same(RankProfile a, RankProfile b, String name) {
        Map<String, String> mine = a.identity(IpcNvlinkProvider.ID);
        Map<String, String> theirs = b.identity(IpcNvlinkProvider.ID);
        return mine.containsKey(name) && mine.get(name).equals(theirs.get(name));
    }

    /** True for threads of one process. */
    static boolean sameProcess(RankProfile a, RankProfile b) {
        return a.hostId().equals(b.hostId()) && same(a, b, PROCESS);
    }

    /** True when a fact that lists GPUs has one. */
    static boolean lists(RankProfile rank, String name, String gpu) {
        return List.of(fact(rank, name).split(",", -1)).contains(gpu);
    }

    /** Index that a GPU has in the topology as the rank sees it; -1 when that does not tell, empty when it may not use it. */
    static Optional<Integer> index(RankProfile rank, String gpu) {
        for (String entry : fact(rank, GPUS).split(",", -1)) {
            int equals = entry.indexOf('=');
            if (equals > 0 && entry.substring(equals + 1).equals(gpu)) {
                return Optional.of(number(entry.substring(0, equals)));
            }
        }
        return Optional.empty();
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    /** The other way round: {@link #GPUS} from indexes and addresses. */
    static String gpus(Map<String, Integer> indexes) {
        List<String> entries = new ArrayList<>();
        indexes.forEach((gpu, index) -> entries.add(index + "=" + gpu));
        return String.join(",", entries);
    }
}
