package org.ep4j.plan.forecast;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpArgumentException;
import org.ep4j.ExpertPlacement;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PeerGroup;
import org.ep4j.plan.RankGroup;
import org.ep4j.plan.forecast.Exchange.Messages;
import org.ep4j.plan.forecast.Forecast.Operation;
import org.ep4j.plan.offer.Estimates;

/** Computes {@link Forecast}s of one exchange. */
final class Forecaster {
    private final EpPlan plan;
    private final Exchange exchange;
    private final PathTable paths;
    private final MappedDomains domains;
    private final double[] perRank;
    private final double[] perSelection;
    private final double[] perDomain;

    Forecaster(EpPlan plan, Exchange exchange, ExpertPlacement placement) {
        if (placement.ranks() != plan.ranks() || placement.experts() != exchange.experts()) {
            throw new EpArgumentException(
                    "placement",
                    placement.experts() + " experts on " + placement.ranks() + " ranks",
                    exchange.experts() + " experts on " + plan.ranks() + " ranks",
                    "place the experts of the exchange on the ranks of the plan");
        }
        this.plan = plan;
        this.exchange = exchange;
        this.paths = new PathTable(plan);
        this.domains = new MappedDomains(paths, plan.ranks());
        Routing routing = new Routing(exchange, placement);
        this.perRank = new double[plan.ranks()];
        this.perSelection = new double[plan.ranks()];
        for (int rank = 0; rank < plan.ranks(); rank++) {
            perRank[rank] = routing.messages(rank, Messages.PER_RANK);
            perSelection[rank] = routing.messages(rank, Messages.PER_SELECTION);
        }
        this.perDomain = new double[domains.count()];
        for (int domain = 0; domain < perDomain.length; domain++) {
            perDomain[domain] = routing.reaches(domains.members(domain));
        }
    }

    Forecast forecast(Operation operation) {
        boolean dispatch = operation == Operation.DISPATCH;
        Messages messages = dispatch ? exchange.dispatchMessages() : exchange.combineMessages();
        double row = dispatch ? exchange.dispatchRow() : exchange.combineRow();
        double[] perPeer = messages == Messages.PER_RANK ? perRank : perSelection;
        Traffic traffic = new Traffic(paths, plan.ranks());
        if (forwards(messages)) {
            railed(traffic, dispatch, row);
        } else {
            spread(traffic, groups(), dispatch, (from, to) -> exchange.tokens() * perPeer[to] * row);
        }
        double efficiency = exchange.mode() == Exchange.Mode.LOW_LATENCY
                ? Estimates.NIC_EFFICIENCY_MESSAGES
                : Estimates.NIC_EFFICIENCY;
        List<ResourceLoad> loads = ResourceLoads.of(plan, paths, traffic, efficiency);
        double latency = latency(forwards(messages));
        double busy = loads.isEmpty() ? 0 : loads.get(0).micros();
        double tokens = exchange.tokens();
        return new Forecast(
                latency + busy,
                latency,
                tokens * row * sum(perPeer),
                tokens * row * sum(perDomain),
                traffic.wirePerRank(),
                loads);
    }

    /** Bytes of a dispatch between two different ranks; equal for pairs of one kind whose ranks have equal labels. */
    @FunctionalInterface
    private interface PairBytes {
        double of(int from, int to);
    }

    /** Ranks with like peers in all that bytes depend on. */
    private List<RankGroup> groups() {
        Map<List<Object>, Integer> numbers = new HashMap<>();
        int[] labels = new int[plan.ranks()];
        for (int rank = 0; rank < labels.length; rank++) {
            labels[rank] = PathTable.number(
                    numbers,
                    List.of(
                            paths.nics(rank),
                            domains.place(rank),
                            domains.size(rank),
                            perRank[rank],
                            perSelection[rank],
                            perDomain[domains.of(rank)]));
        }
        return plan.rankGroups(labels);
    }

    private boolean forwards(Messages messages) {
        return exchange.mode() == Exchange.Mode.HIGH_THROUGHPUT && messages == Messages.PER_RANK && domains.count() > 1;
    }

    /** Adds the bytes of all pairs: once for the ranks of a group, as they all have the same, and pair by pair where links are. */
    private void spread(Traffic traffic, List<RankGroup> groups, boolean dispatch, PairBytes pairs) {
        // A combine goes the same ways backwards.
        PairBytes bytes = dispatch ? pairs : (from, to) -> pairs.of(to, from);
        for (RankGroup group : groups) {
            int rank = group.example();
            boolean links = false;
            Map<Integer, double[]> sums = new TreeMap<>();
            for (PeerGroup peers : group.peers()) {
                int peer = peers.example();
                int there = paths.index(rank, peer);
                double[] sum = sums.computeIfAbsent(there, k -> new double[2]);
                sum[0] += traffic.ownLink(there) ? 0 : peers.peers() * bytes.of(rank, peer);
                sum[1] += traffic.ownLink(paths.index(peer, rank)) ? 0 : peers.peers() * bytes.of(peer, rank);
                links |= traffic.ownLink(there);
            }
            for (int like : group.ranks()) {
                sums.forEach((path, sum) -> traffic.add(like, path, sum[0], sum[1]));
                if (links) {
                    overLinks(traffic, like, bytes);
                }
            }
        }
    }

    private void overLinks(Traffic traffic, int rank, PairBytes bytes) {
        for (int peer : paths.near(rank)) {
            if (peer != rank && traffic.ownLink(paths.index(rank, peer))) {
                traffic.add(rank, peer, bytes.of(rank, peer));
            }
        }
    }

    /** Once to each domain, to the rank at the sender's own place, and on from there. */
    private void railed(Traffic traffic, boolean dispatch, double row) {
        List<RankGroup> groups = groups();
        spread(
                traffic,
                groups,
                dispatch,
                (from, to) -> domains.rail(from, to) ? exchange.tokens() * perDomain[domains.of(to)] * row : 0);
        for (RankGroup group : groups) {
            double tokens = exchange.tokens();
            for (PeerGroup peers : group.peers()) {
                tokens +=
                        domains.rail(peers.example(), group.example()) ? (double) peers.peers() * exchange.tokens() : 0;
            }
            for (int rank : group.ranks()) {
                for (int to : domains.members(domains.of(rank))) {
                    double bytes = tokens * perRank[to] * row;
                    traffic.add(dispatch ? rank : to, dispatch ? to : rank, bytes);
                }
            }
        }
    }

    /** High throughput exchanges counts before rows, and crosses a domain after the network. */
    private double latency(boolean forwards) {
        double widest = 0;
        double mapped = 0;
        for (int to = 1; to < plan.ranks(); to++) {
            PathTraits path = paths.traits(0, to);
            widest = Math.max(widest, path.offer().latencyMicros());
            mapped = path.mapped() ? Math.max(mapped, path.offer().latencyMicros()) : mapped;
        }
        return Estimates.OPERATION_MICROS
                + (exchange.mode() == Exchange.Mode.HIGH_THROUGHPUT ? 2 * widest : widest)
                + (forwards ? mapped : 0);
    }

    private static double sum(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        return sum;
    }
}
