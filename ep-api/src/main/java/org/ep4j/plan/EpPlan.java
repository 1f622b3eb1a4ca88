package org.ep4j.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;

/**
 * The agreed table of paths: rank x rank.
 *
 * @param profiles what the ranks reported, in rank order
 * @param paths path from rank {@code i} to rank {@code j} at index {@code i * ranks + j}
 */
public record EpPlan(List<RankProfile> profiles, List<PairPath> paths) {
    /** Copies both and checks their sizes. */
    public EpPlan {
        profiles = List.copyOf(profiles);
        paths = List.copyOf(paths);
        if (paths.size() != profiles.size() * profiles.size()) {
            throw new IllegalArgumentException(profiles.size() + " ranks need " + profiles.size() * profiles.size()
                    + " paths, got " + paths.size());
        }
        for (int i = 0; i < profiles.size(); i++) {
            if (profiles.get(i).rank() != i) {
                throw new IllegalArgumentException(
                        "profile " + i + " is that of rank " + profiles.get(i).rank() + ", must be in rank order");
            }
        }
        for (int i = 0; i < paths.size(); i++) {
            int from = i / profiles.size();
            int to = i % profiles.size();
            if (paths.get(i).from() != from || paths.get(i).to() != to) {
                throw new IllegalArgumentException("path " + i + " leads from "
                        + paths.get(i).from() + " to " + paths.get(i).to() + ", must lead from " + from + " to " + to);
            }
        }
    }

    /** Number of ranks. */
    public int ranks() {
        return profiles.size();
    }

    /** How {@code from} reaches {@code to}. */
    public PairPath path(int from, int to) {
        return paths.get(from * ranks() + to);
    }

    /** Ranks that share the operating system of {@code rank}, ascending, itself among them. */
    public List<Integer> hostRanks(int rank) {
        String host = profiles.get(rank).hostId();
        return profiles.stream()
                .filter(p -> p.hostId().equals(host))
                .map(RankProfile::rank)
                .toList();
    }

    /** Index of each rank's host, hosts numbered in the order of their lowest rank. */
    public int[] hostIndex() {
        Map<String, Integer> seen = new LinkedHashMap<>();
        int[] index = new int[ranks()];
        for (RankProfile profile : profiles) {
            seen.putIfAbsent(profile.hostId(), seen.size());
            index[profile.rank()] = seen.get(profile.hostId());
        }
        return index;
    }

    /** Ranks that use a backend on some path, ascending. */
    public List<Integer> ranksUsing(String backend) {
        var ranks = new TreeSet<Integer>();
        for (PairPath path : paths) {
            if (path.backend().equals(backend)) {
                ranks.add(path.from());
                ranks.add(path.to());
            }
        }
        return List.copyOf(ranks);
    }

    /** Backends that some path uses, in alphabetical order, without {@code local}. */
    public List<String> backends() {
        var ids = new TreeSet<String>();
        paths.forEach(p -> ids.add(p.backend()));
        ids.remove(Planner.LOCAL);
        return List.copyOf(ids);
    }

    /** The plan for people: one line a group of like pairs, with the reason for every backend that was not taken. */
    public String explain() {
        Map<String, List<String>> groups = new LinkedHashMap<>();
        for (PairPath path : paths) {
            if (path.from() == path.to()) {
                continue;
            }
            PathKind kind = path.offer().kind();
            String nics =
                    path.offer().nics().isEmpty() ? "" : " nics " + path.offer().nics();
            String line = String.format(
                    Locale.ROOT,
                    "%-14s %-13s est. %.0f GB/s, %.1f us%s%s",
                    path.backend(),
                    kind,
                    path.offer().gigabytesPerSecond(),
                    path.offer().latencyMicros(),
                    nics,
                    path.rejected().isEmpty()
                            ? ""
                            : "\n    not taken: " + String.join("\n    not taken: ", path.rejected()));
            groups.computeIfAbsent(line, k -> new ArrayList<>()).add(path.from() + "->" + path.to());
        }
        StringBuilder text = new StringBuilder();
        for (RankProfile profile : profiles) {
            text.append(profile.label()).append('\n');
        }
        groups.forEach((line, pairs) -> {
            String shown = pairs.size() == ranks() * (ranks() - 1)
                    ? "all " + pairs.size() + " pairs"
                    : pairs.size() > 8
                            ? String.join(" ", pairs.subList(0, 8)) + " and " + (pairs.size() - 8) + " more"
                            : String.join(" ", pairs);
            text.append(shown).append(": ").append(line).append('\n');
        });
        return text.toString();
    }
}
