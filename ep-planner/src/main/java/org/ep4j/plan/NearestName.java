package org.ep4j.plan;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Finds what a misspelt name may have meant. */
public final class NearestName {
    private NearestName() {}

    /** Returns the nearest of the known names, or the text {@code none} if {@code known} is empty. */
    public static String of(String name, Collection<String> known) {
        return known.stream()
                .min(Comparator.comparingInt(candidate -> distance(name, candidate)))
                .orElse("none");
    }

    /**
     * Returns the nearest of the known names if it is at most {@code edits} edits away (characters added, left out or
     * replaced).
     */
    public static Optional<String> within(String name, Collection<String> known, int edits) {
        return Optional.of(of(name, known))
                .filter(nearest -> known.contains(nearest) && distance(name, nearest) <= edits);
    }

    /** Levenshtein distance with two rows. */
    static int distance(String a, String b) {
        int[] previous = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            previous[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int[] current = new int[b.length() + 1];
            current[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replace = previous[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                current[j] = Math.min(replace, Math.min(previous[j], current[j - 1]) + 1);
            }
            previous = current;
        }
        return previous[b.length()];
    }
}
