package org.ep4j.backend.host;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;

/**
 * What decides whether two ranks can share memory: the running kernel, the folder as a file (so that containers with a
 * private /dev/shm are told apart, and one volume at two paths is not), and the user, since files are for their owner alone.
 */
final class ShmFacts {
    /** Id that the kernel draws when it starts; containers of one machine see the same. */
    static final String BOOT = "boot";

    /** Device and inode number of the folder. */
    static final String FOLDER_ID = "folder-id";

    /** Path of the folder as that rank sees it, for messages. */
    static final String FOLDER = "folder";

    /** Effective user id. */
    static final String USER = "uid";

    private static final List<String> NEEDED = List.of(BOOT, FOLDER_ID, FOLDER, USER);

    /** One core copies about this fast; measured figures differ by machine, and only the order of offers matters. */
    private static final double GIGABYTES_PER_SECOND = 10;

    private static final double LATENCY_MICROS = 1;

    private ShmFacts() {}

    /** The path from one rank to another, or why there is none. */
    static Offer offer(RankProfile from, RankProfile to) {
        for (RankProfile profile : List.of(from, to)) {
            for (String name : NEEDED) {
                if (!profile.facts(HostShmProvider.ID).containsKey(name)) {
                    return new NoPath(
                            profile.label() + " did not report its " + name,
                            "run the same ep4j version on all ranks, and see the checks of its probe");
                }
            }
        }
        Map<String, String> a = from.facts(HostShmProvider.ID);
        Map<String, String> b = to.facts(HostShmProvider.ID);
        if (differ(a, b, BOOT)) {
            return new NoPath(
                    from.label() + " and " + to.label() + " run on different machines (boot ids " + a.get(BOOT)
                            + " and " + b.get(BOOT) + ")",
                    "add a backend that connects machines");
        }
        if (differ(a, b, FOLDER_ID)) {
            return new NoPath(
                    to.label() + " has another " + b.get(FOLDER) + " (file " + b.get(FOLDER_ID) + ") than "
                            + from.label() + " (" + a.get(FOLDER) + ", file " + a.get(FOLDER_ID) + ")",
                    "run the containers with a shared --ipc or the same volume, or set " + ShmFolder.KEY.name()
                            + " to a folder that both see");
        }
        if (differ(a, b, USER)) {
            return new NoPath(
                    from.label() + " runs as user id " + a.get(USER) + " and " + to.label() + " as " + b.get(USER)
                            + ", and shared memory is for its owner alone",
                    "run all ranks of a machine as the same user");
        }
        return new PathOffer(PathKind.MAPPED, GIGABYTES_PER_SECOND, LATENCY_MICROS, List.of());
    }

    /** Names the folder of a rank as a file on a machine: ranks with an equal name share the folder's free space. */
    static String sharedFolder(RankProfile profile) {
        Map<String, String> facts = profile.facts(HostShmProvider.ID);
        return String.format(
                Locale.ROOT, "%s/%s", facts.getOrDefault(BOOT, profile.hostId()), facts.getOrDefault(FOLDER_ID, ""));
    }

    private static boolean differ(Map<String, String> a, Map<String, String> b, String name) {
        return !a.getOrDefault(name, "").equals(b.getOrDefault(name, ""));
    }
}
