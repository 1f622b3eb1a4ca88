package org.ep4j.plan;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.ep4j.EpPath;
import org.ep4j.plan.Decision.Rejection;
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
        Map<Decision, List<String>> shown = pairs();
        long all = (long) plan.ranks() * (plan.ranks() - 1);
        for (GroupPlan.PairGroup group : plan.groups()) {
            EpPath path = group.example();
            Decision decision = plan.decision(path.from(), path.to());
            List<String> pairs = shown.getOrDefault(decision.withoutNics(), List.of());
            long more = group.pairs() - pairs.size();
            String which = group.pairs() == all
                    ? "all " + all + " pairs"
                    : String.join(" ", pairs) + (more > 0 ? " and " + more + " more" : "");
            text.append(which).append(": ").append(path(path, decision));
        }
        plan.notes().forEach(note -> text.append(note).append('\n'));
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

    /** By decision, the pairs that are shown. */
    private Map<Decision, List<String>> pairs() {
        Map<Decision, List<String>> shown = new HashMap<>();
        if (plan.ranks() > EVERY_PAIR) {
            for (int kind : plan.kindsInOrder()) {
                PairKinds.Kind pairs = plan.kinds().kinds().get(kind);
                show(shown, plan.decisions().get(kind), pairs.from(), pairs.to());
            }
            return shown;
        }
        for (int from = 0; from < plan.ranks(); from++) {
            for (int to = 0; to < plan.ranks(); to++) {
                if (from != to) {
                    show(shown, plan.decision(from, to), from, to);
                }
            }
        }
        return shown;
    }

    private static void show(Map<Decision, List<String>> shown, Decision decision, int from, int to) {
        List<String> pairs = shown.computeIfAbsent(decision.withoutNics(), k -> new ArrayList<>());
        if (pairs.size() < SHOWN) {
            pairs.add(from + "->" + to);
        }
    }

    private String path(EpPath path, Decision decision) {
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
}
