package org.ep4j.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;

/** A plan for people. Large plans are folded: like hosts once, like ranks of a host once, like pairs once. */
final class PlanText {
    /** Up to here every rank has its line. */
    private static final int EVERY_RANK = 16;

    /** Up to here pairs are gone through one by one to show the first of each group. */
    private static final int EVERY_PAIR = 64;

    private static final int SHOWN = 8;

    private final GroupPlan plan;
    private final boolean all;
    private final StringBuilder text = new StringBuilder();

    /** @param all false leaves out backends whose hardware no rank has, and that the settings do not name */
    PlanText(GroupPlan plan, boolean all) {
        this.plan = plan;
        this.all = all;
    }

    String text() {
        if (plan.ranks() <= EVERY_RANK) {
            plan.profiles().forEach(profile -> text.append(rank(profile)).append('\n'));
        } else {
            hosts();
        }
        if (plan.hybrid()) {
            text.append("hybrid: loads and stores within a domain, NICs between domains\n");
        }
        pairs().forEach((decision, shown) ->
                text.append(String.join(" ", shown)).append(": ").append(path(decision)));
        return text.toString();
    }

    private String rank(RankProfile profile) {
        return profile.label() + nics(profile.rank());
    }

    private String nics(int rank) {
        List<String> nics = plan.nics(rank);
        return nics.isEmpty() ? "" : " nics " + String.join(" ", nics) + ": " + plan.nicReason(rank);
    }

    private void hosts() {
        Map<String, List<Integer>> ranksOf = new LinkedHashMap<>();
        plan.profiles()
                .forEach(profile -> ranksOf.computeIfAbsent(profile.hostId(), k -> new ArrayList<>())
                        .add(profile.rank()));
        Map<List<String>, List<List<Integer>>> like = new LinkedHashMap<>();
        for (List<Integer> ranks : ranksOf.values()) {
            List<String> look = ranks.stream().map(this::look).toList();
            like.computeIfAbsent(look, k -> new ArrayList<>()).add(ranks);
        }
        text.append(plan.ranks() + " ranks on " + ranksOf.size() + (ranksOf.size() == 1 ? " host\n" : " hosts\n"));
        like.values().forEach(this::likeHosts);
    }

    private String look(int rank) {
        return plan.profiles().get(rank).device() + nics(rank);
    }

    private void likeHosts(List<List<Integer>> hosts) {
        List<Integer> first = hosts.get(0);
        String more = hosts.size() == 1
                ? ""
                : ", and " + (hosts.size() - 1) + " like it: "
                        + shown(hosts.subList(1, hosts.size()).stream()
                                .map(this::host)
                                .toList());
        text.append(host(first)).append(more).append('\n');
        Map<String, List<Integer>> ranks = new LinkedHashMap<>();
        first.forEach(rank ->
                ranks.computeIfAbsent(look(rank), k -> new ArrayList<>()).add(rank));
        ranks.values()
                .forEach(alike -> text.append("    ")
                        .append(rank(plan.profiles().get(alike.get(0))))
                        .append(alike.size() == 1 ? "" : ", and " + (alike.size() - 1) + " ranks like it")
                        .append('\n'));
    }

    private String host(List<Integer> ranks) {
        int first = ranks.get(0);
        int last = ranks.get(ranks.size() - 1);
        String numbers = ranks.size() == 1
                ? "rank " + first
                : last - first + 1 == ranks.size()
                        ? "ranks " + first + "-" + last
                        : ranks.size() + " ranks from " + first + " to " + last;
        return plan.profiles().get(first).hostName() + " (" + numbers + ")";
    }

    private static String shown(List<String> names) {
        return names.size() <= SHOWN
                ? String.join(", ", names)
                : String.join(", ", names.subList(0, SHOWN - 1)) + ", ... " + names.get(names.size() - 1);
    }

    /** Like decisions, each with its pairs as far as they are shown. */
    private Map<Decision, List<String>> pairs() {
        Map<Decision, Long> counts = new LinkedHashMap<>();
        Map<Decision, List<String>> shown = new LinkedHashMap<>();
        for (int kind : plan.kindsInOrder()) {
            Decision decision = plan.decisions().get(kind).withoutNics();
            counts.merge(decision, plan.kinds().kinds().get(kind).pairs(), Long::sum);
            List<String> pairs = shown.computeIfAbsent(decision, k -> new ArrayList<>());
            if (plan.ranks() > EVERY_PAIR && pairs.size() < SHOWN) {
                var example = plan.kinds().kinds().get(kind);
                pairs.add(example.from() + "->" + example.to());
            }
        }
        if (plan.ranks() <= EVERY_PAIR) {
            firstPairs(shown);
        }
        long all = (long) plan.ranks() * (plan.ranks() - 1);
        shown.forEach((decision, pairs) -> {
            long count = counts.getOrDefault(decision, 0L);
            if (count == all) {
                pairs.clear();
                pairs.add("all " + count + " pairs");
            } else if (count > pairs.size()) {
                pairs.add("and " + (count - pairs.size()) + " more");
            }
        });
        return shown;
    }

    private void firstPairs(Map<Decision, List<String>> shown) {
        for (int from = 0; from < plan.ranks(); from++) {
            for (int to = 0; to < plan.ranks(); to++) {
                if (from != to) {
                    List<String> pairs =
                            shown.getOrDefault(plan.decision(from, to).withoutNics(), List.of());
                    if (pairs.size() < SHOWN) {
                        pairs.add(from + "->" + to);
                    }
                }
            }
        }
    }

    private String path(Decision decision) {
        EpPath path = example(decision);
        Offer offer = decision.offer();
        StringBuilder line = new StringBuilder(String.format(
                Locale.ROOT,
                "%-14s %-13s path est. %.0f GB/s, %.1f us",
                decision.backend(),
                offer.kind(),
                offer.gigabytesPerSecond(),
                offer.latencyMicros()));
        if (decision.posted()) {
            line.append(", ").append(path.lanes()).append(path.lanes() == 1 ? " lane" : " lanes");
        }
        line.append(offer.staged() ? ", staged through host memory since there is no better path" : "");
        line.append('\n');
        RankProfile from = plan.profiles().get(path.from());
        RankProfile to = plan.profiles().get(path.to());
        for (Rejection rejection : decision.rejected()) {
            if (all || plan.applies(rejection.backend())) {
                line.append("    not taken: ")
                        .append(rejection.describe(from, to))
                        .append('\n');
            }
        }
        return line.toString();
    }

    private EpPath example(Decision decision) {
        for (int kind : plan.kindsInOrder()) {
            if (plan.decisions().get(kind).withoutNics().equals(decision)) {
                var example = plan.kinds().kinds().get(kind);
                return plan.path(example.from(), example.to());
            }
        }
        throw new IllegalArgumentException("the plan does not contain " + decision);
    }
}
