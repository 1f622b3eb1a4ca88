package org.ep4j.backend.host;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpPath;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;

/**
 * Facts that decide whether two ranks can share memory: the running kernel, the folder as a file (so that containers with a
 * private /dev/shm are distinguished, and one volume at two paths is not), and the user, since files are for their owner alone.
 */
final class ShmFacts {
    /** Id that the kernel draws when it starts; containers of one machine see the same. */
    static final String BOOT = "boot";

    /** Device and inode number of the folder. */
    static final String FOLDER_ID = "folder-id";

    /** Path of the folder as that rank sees it, for messages. */
    static final String FOLDER = ProbeReport.FOLDER;

    /** Effective user id. */
    static final String USER = "uid";

    /** Facts that are only compared, so that hosts that differ in nothing else are planned together. */
    private static final List<String> IDENTITY = List.of(BOOT, FOLDER_ID, USER);

    private static final Map<String, String> WORDS = Map.of(
            BOOT, "boot id",
            FOLDER, "folder for shared memory",
            FOLDER_ID, "id of the folder for shared memory",
            USER, "user id");

    /** One core copies about this fast; measured figures differ by machine, and only the order of offers matters. */
    private static final double GIGABYTES_PER_SECOND = 10;

    private static final double LATENCY_MICROS = 1;

    private ShmFacts() {}

    /** Returns the report of a described machine: one kernel, one folder and one user for all ranks of a host. */
    static ProbeReport describe(RankProfile rank) {
        return ProbeReport.builder()
                .check(ShmProbe.device(rank.device()))
                .fact(FOLDER, "/dev/shm")
                .identity(BOOT, rank.hostId())
                .identity(FOLDER_ID, rank.hostId())
                .identity(USER, "0")
                .build();
    }

    /** Returns the path from one rank to another, or the reason why there is none. */
    static Offer offer(RankProfile from, RankProfile to) {
        Optional<String> missing = missing(from)
                .map(name -> "the writing rank did not report its " + WORDS.get(name))
                .or(() -> missing(to).map(name -> "the peer did not report its " + WORDS.get(name)));
        if (missing.isPresent()) {
            return Offer.none(
                    missing.get(), "run the same ep4j version on all ranks, and see the probe checks of that rank");
        }
        if (differ(from, to, BOOT)) {
            return Offer.none("the ranks run on different machines", "add a backend that connects machines");
        }
        if (!from.hostId().equals(to.hostId())) {
            return Offer.none(
                    "the ranks count as ranks of different hosts because of " + EpKeys.HOST_RANKS.name(),
                    "unset " + EpKeys.HOST_RANKS.name() + " to use the real hosts");
        }
        if (differ(from, to, FOLDER_ID)) {
            return Offer.none(
                    "the peer's " + folder(to) + " is not the same folder as the writing rank's " + folder(from),
                    "run the containers with a shared --ipc or the same volume, or set " + ShmFolder.KEY.name()
                            + " to a folder that both see");
        }
        if (differ(from, to, USER)) {
            return Offer.none(
                    "the ranks run as different users, and shared memory can be opened only by its owner",
                    "run all ranks of a machine as the same user");
        }
        return Offer.path(EpPath.Kind.MAPPED)
                .gigabytesPerSecond(GIGABYTES_PER_SECOND)
                .latencyMicros(LATENCY_MICROS)
                .build();
    }

    /** Names the folder of a rank as a file on a machine: ranks with an equal name share the folder's free space. */
    static String sharedFolder(RankProfile profile) {
        Map<String, String> identity = profile.identity(HostShmProvider.ID);
        return String.format(
                Locale.ROOT,
                "%s/%s",
                identity.getOrDefault(BOOT, profile.hostId()),
                identity.getOrDefault(FOLDER_ID, ""));
    }

    private static Optional<String> missing(RankProfile profile) {
        return profile.facts(HostShmProvider.ID).containsKey(FOLDER)
                ? IDENTITY.stream()
                        .filter(name -> !profile.identity(HostShmProvider.ID).containsKey(name))
                        .findFirst()
                : Optional.of(FOLDER);
    }

    private static String folder(RankProfile profile) {
        return profile.facts(HostShmProvider.ID).getOrDefault(FOLDER, "");
    }

    private static boolean differ(RankProfile a, RankProfile b, String name) {
        return !a.identity(HostShmProvider.ID)
                .getOrDefault(name, "")
                .equals(b.identity(HostShmProvider.ID).getOrDefault(name, ""));
    }
}
