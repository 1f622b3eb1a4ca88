package org.ep4j.plan.forecast;

import com.google.common.collect.Sets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.ep4j.EpArgumentException;
import org.ep4j.EpPath;
import org.ep4j.ExpertPlacement;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PeerGroups;
import org.ep4j.plan.forecast.Exchange.Messages;
import org.ep4j.plan.forecast.Forecast.Operation;
import org.ep4j.plan.forecast.Forecast.ResourceLoad;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.spi.RankProfile;

/** Computes {@link Forecast}s of one exchange. */
final class Forecaster {
    private final GroupPlan plan;
    private final Exchange exchange;
    private final PathTable paths;
    private final MappedDomains domains;
    private final double[] perRank;
    private final double[] perSelection;
    private final double[] perDomain;

    Forecaster(GroupPlan plan, Exchange exchange, ExpertPlacement placement) {
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
        this.domains = new MappedDomains(plan);
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
        double each = exchange.tokens() * row;
        Traffic traffic = forwards(messages)
                ? traffic(relayLabels(), relayed(row), dispatch, PathTable.Traits::mapped)
                : traffic(labels(perPeer), (from, to) -> each * perPeer[to], dispatch, PathTable.Traits::ownLink);
        List<ResourceLoad> loads = traffic.loads();
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

    /** Adds in order, which streams do not: the last digits of reports stay the same. */
    private static double sum(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        return sum;
    }

    @FunctionalInterface
    private interface Flow {
        /** Gives the bytes from one rank to another: equal for ranks with equal labels, unless their paths are added singly. */
        double bytes(int from, int to);
    }

    private boolean forwards(Messages messages) {
        return exchange.mode() == Exchange.Mode.HIGH_THROUGHPUT && messages == Messages.PER_RANK && domains.count() > 1;
    }

    /**
     * Adds up the bytes of all pairs of ranks, in the other direction for a combine. The pairs of mapped paths that
     * {@code singly} matches are added one at a time, since ranks with equal labels differ there.
     */
    private Traffic traffic(int[] labels, Flow flow, boolean dispatch, Predicate<PathTable.Traits> singly) {
        double efficiency = exchange.mode() == Exchange.Mode.LOW_LATENCY
                ? Estimates.NIC_EFFICIENCY_MESSAGES
                : Estimates.NIC_EFFICIENCY;
        Traffic traffic = new Traffic(plan, paths, efficiency);
        Flow sent = dispatch ? flow : (from, to) -> flow.bytes(to, from);
        PeerGroups peers = plan.peerGroups(labels);
        for (int rank = 0; rank < plan.ranks(); rank++) {
            int own = rank;
            boolean[] hasSingle = {false};
            peers.forEach(rank, (peer, count) -> {
                if (singly.test(paths.traits(own, peer))) {
                    hasSingle[0] = true;
                } else {
                    traffic.addOut(own, peer, count * sent.bytes(own, peer));
                }
                if (!singly.test(paths.traits(peer, own))) {
                    traffic.addIn(own, peer, count * sent.bytes(peer, own));
                }
            });
            if (hasSingle[0]) {
                plan.mappedPeers(rank).stream()
                        .filter(peer -> singly.test(paths.traits(own, peer)))
                        .forEach(peer -> traffic.add(own, peer, sent.bytes(own, peer)));
            }
        }
        return traffic;
    }

    /** By rank, a number for its NICs and for what it gets. */
    private int[] labels(double[] perPeer) {
        return PeerGroups.labels(plan.ranks(), rank -> List.of(paths.nics()[rank], perPeer[rank]));
    }

    /** By rank, a number for its NICs, and for its domain and its index there. */
    private int[] relayLabels() {
        return PeerGroups.labels(plan.ranks(), rank -> {
            int domain = domains.of(rank);
            return List.of(
                    paths.nics()[rank],
                    perDomain[domain],
                    domains.members(domain).size(),
                    domains.index(rank));
        });
    }

    /** Bytes that go once to each domain, to the rank at the sender's own index, which relays them there. */
    private Flow relayed(double row) {
        int[] atIndex = new int[domains.largest()];
        for (int rank = 0; rank < plan.ranks(); rank++) {
            atIndex[domains.index(rank)]++;
        }
        double[] tokens = new double[plan.ranks()];
        for (int rank = 0; rank < plan.ranks(); rank++) {
            // All for which this rank is the relay, but for itself.
            long senders = -1;
            int ranks = domains.members(domains.of(rank)).size();
            for (int index = domains.index(rank); index < atIndex.length; index += ranks) {
                senders += atIndex[index];
            }
            tokens[rank] = exchange.tokens() + (double) exchange.tokens() * senders;
        }
        return (from, to) -> {
            if (domains.of(from) == domains.of(to)) {
                return tokens[from] * perRank[to] * row;
            }
            return domains.isRelay(from, to) ? exchange.tokens() * perDomain[domains.of(to)] * row : 0;
        };
    }

    /** High throughput exchanges counts before rows, and crosses a domain after the network. */
    private double latency(boolean forwards) {
        double widest = 0;
        double mapped = 0;
        for (int to = 1; to < plan.ranks(); to++) {
            PathTable.Traits path = paths.traits(0, to);
            widest = Math.max(widest, path.offer().latencyMicros());
            mapped = path.mapped() ? Math.max(mapped, path.offer().latencyMicros()) : mapped;
        }
        return Estimates.OPERATION_MICROS
                + (exchange.mode() == Exchange.Mode.HIGH_THROUGHPUT ? 2 * widest : widest)
                + (forwards ? mapped : 0);
    }

    /** Domains of ranks that map each other's memory: hosts mostly, or all hosts of an NVLink domain. */
    private static final class MappedDomains {
        private final List<List<Integer>> members = new ArrayList<>();
        private final int[] domainOf;
        private final int[] indexIn;

        MappedDomains(GroupPlan plan) {
            domainOf = new int[plan.ranks()];
            indexIn = new int[plan.ranks()];
            Map<String, Set<Integer>> around = new HashMap<>();
            for (RankProfile profile : plan.profiles()) {
                int rank = profile.rank();
                Set<Integer> sameHost = around.computeIfAbsent("host " + profile.hostId(), k -> new TreeSet<>());
                Set<Integer> sameDomain = profile.domain().isEmpty()
                        ? sameHost
                        : around.computeIfAbsent("domain " + profile.domain(), k -> new TreeSet<>());
                int domain = Sets.union(sameHost, sameDomain).stream()
                        .sorted()
                        .filter(one -> members.get(one).stream()
                                .allMatch(other -> plan.pathKind(other, rank) == EpPath.Kind.MAPPED
                                        && plan.pathKind(rank, other) == EpPath.Kind.MAPPED))
                        .findFirst()
                        .orElse(members.size());
                if (domain == members.size()) {
                    members.add(new ArrayList<>());
                    sameHost.add(domain);
                    sameDomain.add(domain);
                }
                domainOf[rank] = domain;
                indexIn[rank] = members.get(domain).size();
                members.get(domain).add(rank);
            }
        }

        int count() {
            return members.size();
        }

        int largest() {
            return members.stream().mapToInt(List::size).max().orElse(0);
        }

        List<Integer> members(int domain) {
            return members.get(domain);
        }

        int of(int rank) {
            return domainOf[rank];
        }

        /** Index of a rank in its domain. */
        int index(int rank) {
            return indexIn[rank];
        }

        /** Returns true for the relay of {@code from} in its domain: the rank at the same index, to share the work. */
        boolean isRelay(int from, int rank) {
            return indexIn[from] % members.get(domainOf[rank]).size() == indexIn[rank];
        }
    }
}
