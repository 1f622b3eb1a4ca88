package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.EpGroup;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;
import org.ep4j.tck.oracle.Arena;

/**
 * Where asynchronous operations go. Ranks of one process that share a GPU may leave nothing on stream 0 or 1, which all of them have, and
 * nothing on stream 2 while others copy by stream 0, as the kit does: these wait for each other.
 */
final class AsyncStream {
    private AsyncStream() {}

    /** {@code asked}, or a stream of the arena's own in the place of a default stream where that is needed. */
    static long of(long asked, Arena arena, EpGroup group) {
        return asked <= 2 && GpuDevice.isGpu(group.device()) && isShared(group) ? arena.stream() : asked;
    }

    private static boolean isShared(EpGroup group) {
        List<RankProfile> all = GroupPlan.of(group.plan()).profiles();
        RankProfile mine = all.get(group.rank());
        return all.stream()
                .anyMatch(other -> other.rank() != mine.rank()
                        && machine(other).equals(machine(mine))
                        && other.pid() == mine.pid()
                        && other.device().equals(mine.device()));
    }

    /** The host, also where {@code ep.host.ranks} takes it for several ones. */
    private static String machine(RankProfile rank) {
        return rank.hostId().replaceFirst("/\\d+$", "");
    }
}
