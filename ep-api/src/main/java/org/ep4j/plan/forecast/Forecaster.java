package org.ep4j.plan.forecast;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.EpArgumentException;
import org.ep4j.ExpertPlacement;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PeerGroups;
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
        // A combine goes the same ways backwards.
        Flow flow = dispatch ? traffic::add : (from, to, bytes) -> traffic.add(to, from, bytes);
        if (forwards(messages)) {
            railed(flow, row);
        } else {
            direct(traffic, row, perPeer, dispatch);
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

    @FunctionalInterface
    private interface Flow {
        void add(int from, int to, double bytes);
    }

    private boolean forwards(Messages messages) {
        return exchange.mode() == Exchange.Mode.HIGH_THROUGHPUT && messages == Messages.PER_RANK && domains.count() > 1;
    }

    private void direct(Traffic traffic, double row, double[] perPeer, boolean dispatch) {
        double each = exchange.tokens() * row;
        PeerGroups peers = plan.peerGroups(labels(perPeer));
        for (int rank = 0; rank < plan.ranks(); rank++) {
            int own = rank;
            for (int to : plan.mappedPeers(rank)) {
                traffic.add(rank, to, each * (dispatch ? perPeer[to] : perPeer[rank]));
            }
            peers.forEach(rank, (peer, count) -> {
                double theirs = count * each * perPeer[peer];
                double ours = count * each * perPeer[own];
                if (!paths.traits(own, peer).mapped()) {
                    traffic.addOut(own, peer, dispatch ? theirs : ours);
                }
                if (!paths.traits(peer, own).mapped()) {
                    traffic.addIn(own, peer, dispatch ? ours : theirs);
                }
            });
        }
    }

    /** By rank, a number for its NICs and for what it gets. */
    private int[] labels(double[] perPeer) {
        Map<List<Number>, Integer> known = new HashMap<>();
        int[] labels = new int[plan.ranks()];
        for (int rank = 0; rank < labels.length; rank++) {
            Integer old = known.putIfAbsent(List.of(paths.nics()[rank], perPeer[rank]), known.size());
            labels[rank] = old == null ? known.size() - 1 : old;
        }
        return labels;
    }

    /** Once to each domain, to the rank at the sender's own place, and on from there. */
    private void railed(Flow flow, double row) {
        double[] forwarded = new double[plan.ranks()];
        for (int from = 0; from < plan.ranks(); from++) {
            for (int domain = 0; domain < domains.count(); domain++) {
                if (domain != domains.of(from)) {
                    int rail = domains.rail(from, domain);
                    flow.add(from, rail, exchange.tokens() * perDomain[domain] * row);
                    forwarded[rail] += exchange.tokens();
                }
            }
        }
        for (int rank = 0; rank < plan.ranks(); rank++) {
            for (int to : domains.members(domains.of(rank))) {
                flow.add(rank, to, (exchange.tokens() + forwarded[rank]) * perRank[to] * row);
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
