package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.RankProfile;

/**
 * Ranks by the values on which offers may depend. Ranks of one <em>class</em> differ in nothing but names and
 * identity; ranks of one <em>group</em> are equal in every value that offers compare (host, domain, identity facts),
 * so they share a host. The classes of two ranks and the pattern of equality of their groups decide what they are
 * offered.
 */
final class RankClasses {
    /** Patterns are bits of a long. */
    private static final int MOST_COLUMNS = 62;

    private final int[] classOf;
    private final int[] groupOf;
    /** Number of each group's value, by compared value and group. */
    private final int[][] columns;

    private RankClasses(int[] classOf, int[] groupOf, int[][] columns) {
        this.classOf = classOf;
        this.groupOf = groupOf;
        this.columns = columns;
    }

    /** Sorts ranks into classes, numbered by their lowest ranks, so that renaming identities changes nothing. */
    static RankClasses of(List<RankProfile> profiles, List<NicChoice> choices) {
        int[] classOf = numbers(profiles.size(), rank -> facts(profiles.get(rank), choices.get(rank)));
        List<int[]> compared = compared(profiles);
        int[] groupOf = numbers(
                classOf.length,
                rank -> compared.stream().map(column -> column[rank]).toList());
        int groups = Arrays.stream(groupOf).max().orElse(-1) + 1;
        int[][] columns = new int[compared.size()][groups];
        for (int rank = 0; rank < groupOf.length; rank++) {
            for (int column = 0; column < columns.length; column++) {
                columns[column][groupOf[rank]] = compared.get(column)[rank];
            }
        }
        return new RankClasses(classOf, groupOf, columns);
    }

    /** Every rank a class of its own: for plans that were not computed. */
    static RankClasses separate(int ranks) {
        int[] each = new int[ranks];
        Arrays.setAll(each, rank -> rank);
        return new RankClasses(each, each, new int[0][]);
    }

    int ranks() {
        return classOf.length;
    }

    int classOf(int rank) {
        return classOf[rank];
    }

    int groupOf(int rank) {
        return groupOf[rank];
    }

    int columns() {
        return columns.length;
    }

    int value(int column, int group) {
        return columns[column][group];
    }

    /** Bits of the compared values that are equal in two groups. */
    long pattern(int groupA, int groupB) {
        long pattern = 0;
        for (int column = 0; column < columns.length; column++) {
            if (columns[column][groupA] == columns[column][groupB]) {
                pattern |= 1L << column;
            }
        }
        return pattern;
    }

    /** Values that are equal on all ranks of a class. */
    private static List<Object> facts(RankProfile profile, NicChoice choice) {
        Map<String, List<Object>> backends = new TreeMap<>();
        profile.backends()
                .forEach((id, found) -> backends.put(
                        id,
                        List.of(found.usable(), found.facts(), found.identity().keySet())));
        Map<String, String> settings = new TreeMap<>(profile.settings());
        settings.keySet()
                .retainAll(Stream.concat(Settings.INFLIGHT.stream(), Stream.of(EpKeys.GPU_WINDOW))
                        .map(ConfigKey::name)
                        .toList());
        return List.of(
                profile.device().type(),
                profile.locality().withUsablePorts(),
                profile.domain().isEmpty(),
                backends,
                choice,
                choice.map().isBlank() ? -1 : NicSelection.gpu(profile),
                settings);
    }

    /** The compared values as numbers by rank, one array for each way in which they part the ranks. */
    private static List<int[]> compared(List<RankProfile> profiles) {
        Map<String, Set<String>> names = new TreeMap<>();
        for (RankProfile profile : profiles) {
            profile.backends()
                    .forEach((id, found) -> names.computeIfAbsent(id, k -> new TreeSet<>())
                            .addAll(found.identity().keySet()));
        }
        List<Function<RankProfile, String>> values = new ArrayList<>();
        values.add(RankProfile::hostId);
        values.add(RankProfile::domain);
        names.forEach((id, facts) ->
                facts.forEach(fact -> values.add(profile -> profile.identity(id).getOrDefault(fact, ""))));
        Map<List<Integer>, int[]> distinct = new LinkedHashMap<>();
        for (Function<RankProfile, String> value : values) {
            int[] column = numbers(profiles.size(), rank -> value.apply(profiles.get(rank)));
            // A value that is equal on all ranks distinguishes no pairs.
            if (Arrays.stream(column).anyMatch(number -> number != 0)) {
                distinct.putIfAbsent(Arrays.stream(column).boxed().toList(), column);
            }
        }
        if (distinct.size() > MOST_COLUMNS) {
            throw new EpUnavailableException("the ranks differ in " + distinct.size()
                    + " values that are compared for equality alone (host, domain, and ProbeReport.identity of the backends;"
                    + " values that split the ranks into the same sets count once), but a plan can use at most "
                    + MOST_COLUMNS
                    + "; some backend reports in ProbeReport.identity what belongs in ProbeReport.facts");
        }
        return List.copyOf(distinct.values());
    }

    /** Numbers values in the order in which they first occur. */
    static int[] numbers(int ranks, IntFunction<Object> value) {
        Map<Object, Integer> seen = new HashMap<>();
        int[] numbers = new int[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            numbers[rank] = number(seen, value.apply(rank));
        }
        return numbers;
    }

    static <K> int number(Map<K, Integer> seen, K value) {
        Integer known = seen.putIfAbsent(value, seen.size());
        return known == null ? seen.size() - 1 : known;
    }
}
