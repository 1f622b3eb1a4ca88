package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;

/**
 * Which ports two ranks use and how many lanes they have; the same seen from both ends. Lane {@code i} is on rail {@code i %
 * rails}, as in the plan.
 *
 * @param mine ports of this rank, by rail
 * @param theirs ports of the peer, by rail
 * @param lanes number of queue pairs, a multiple of the rails
 */
record Pairing(List<String> mine, List<String> theirs, int lanes) {
    Pairing {
        mine = List.copyOf(mine);
        theirs = List.copyOf(theirs);
    }

    /** Of two ranks of a plan that the backend connects. */
    static Pairing of(EpPlan plan, int rank, int peer, EpConfig config) {
        int most = config.get(IbrcKeys.PORTS);
        List<String> mine = ports(plan, rank, peer, most);
        List<String> theirs = ports(plan, peer, rank, most);
        int rails = Math.max(mine.size(), theirs.size());
        int wanted = config.get(IbrcKeys.QUEUE_PAIRS);
        int lanes = wanted > 0
                ? wanted * rails
                : Math.max(plan.path(rank, peer).lanes(), plan.path(peer, rank).lanes());
        return new Pairing(spread(mine, rails), spread(theirs, rails), (lanes + rails - 1) / rails * rails);
    }

    private static List<String> ports(EpPlan plan, int from, int to, int most) {
        PairPath path = plan.path(from, to);
        List<String> nics = path.backend().equals(IbrcProvider.ID) ? path.nics() : plan.nics(from);
        return most > 0 && nics.size() > most ? nics.subList(0, most) : nics;
    }

    private static List<String> spread(List<String> ports, int rails) {
        List<String> all = new ArrayList<>();
        for (int rail = 0; rail < rails; rail++) {
            all.add(ports.get(rail % ports.size()));
        }
        return all;
    }

    int rails() {
        return mine.size();
    }

    /** True when the backend connects two ranks of a plan. */
    static boolean connects(EpPlan plan, int rank, int peer) {
        return rank != peer
                && (plan.path(rank, peer).backend().equals(IbrcProvider.ID)
                        || plan.path(peer, rank).backend().equals(IbrcProvider.ID));
    }
}
