package org.ep4j.backend.ibrc;

import java.util.Arrays;
import java.util.List;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PortPairing;
import org.ep4j.plan.PortPairing.NetworkMatch;
import org.ep4j.spi.RankProfile;

/**
 * Which ports two ranks use and how many lanes they have; the same seen from both ends. Lane {@code i} is on rail {@code i %
 * rails}, as in the plan. A rail joins ports of one network.
 *
 * @param mine ports of this rank, by rail
 * @param theirs ports of the peer, by rail
 * @param lanes number of queue pairs, a multiple of the rails
 * @param apart networks of the two where they have none in common; empty otherwise
 */
record Pairing(List<String> mine, List<String> theirs, int lanes, List<String> apart) {
    Pairing {
        mine = List.copyOf(mine);
        theirs = List.copyOf(theirs);
        apart = List.copyOf(apart);
    }

    /** A pairing within networks. */
    Pairing(List<String> mine, List<String> theirs, int lanes) {
        this(mine, theirs, lanes, List.of());
    }

    /** Of two ranks of a plan that the backend connects. */
    static Pairing of(GroupPlan plan, int rank, int peer, EpConfig config) {
        PortPairing ports = PortPairing.of(plan, rank, peer, IbrcProvider.ID, Pairing::opened);
        if (ports.lower().isEmpty()) {
            int without = plan.path(peer, rank).nics().isEmpty() ? peer : rank;
            throw new EpUnavailableException(
                    "the plan gives " + plan.profiles().get(without).label() + " no NIC for " + IbrcProvider.ID
                            + "; see ./ep plan, and the settings ep.nic.include and ep.nic.map");
        }
        int most = IbrcKeys.PORTS.get(config);
        int all = ports.lower().size();
        int rails = most > 0 ? Math.min(most, all) : all;
        int wanted = IbrcKeys.QUEUE_PAIRS.get(config);
        int lanes = wanted > 0
                ? wanted * rails
                : Math.max(plan.path(rank, peer).lanes(), plan.path(peer, rank).lanes());
        List<String> ofLower = ports.lower().subList(0, rails);
        List<String> ofHigher = ports.higher().subList(0, rails);
        return new Pairing(
                rank < peer ? ofLower : ofHigher,
                rank < peer ? ofHigher : ofLower,
                (lanes + rails - 1) / rails * rails,
                ports.match() == NetworkMatch.NONE ? ports.networks() : List.of());
    }

    /** Whether verbs opened a port, as a probe says; a description stands for all. */
    private static boolean opened(RankProfile rank, String port) {
        String ports = rank.facts(IbrcProvider.ID).get(IbrcOffer.PORTS);
        return ports == null || Arrays.asList(ports.split(",")).contains(port);
    }

    /** Why connecting may fail, for messages; empty where the two have a network in common. */
    String doubt() {
        return apart.isEmpty()
                ? ""
                : "; the planned ports of the two ranks have no network in common (" + String.join(", ", apart)
                        + "): connect these networks with a router, or give both ranks ports of one network with ep.nic.map";
    }

    int rails() {
        return mine.size();
    }
}
