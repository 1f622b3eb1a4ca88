package org.ep4j.tck.oracle;

import org.ep4j.EpArgumentException;

/**
 * How tokens choose experts, as text: {@code uniform}; {@code zipf:S} (expert at popularity i drawn with weight
 * 1 / (i + 1)^S); {@code to-rank:R} (only experts of one rank); {@code to-expert:E} (always this one first, the others
 * uniform); {@code local} (only experts of the token's own rank); {@code grouped:G:N} (experts in G groups, a token
 * draws from N of them, as group-limited gates do).
 *
 * @param kind one of the names above
 * @param first its first number, 0 where it has none
 * @param second its second number, 0 where it has none
 */
public record Routing(String kind, double first, double second) {
    /** Every expert equally likely. */
    public static final Routing UNIFORM = new Routing("uniform", 0, 0);

    /** Skewed by a Zipf law; 0 is uniform. */
    public static Routing zipf(double factor) {
        return new Routing("zipf", factor, 0);
    }

    /**
     * Reads the text form.
     *
     * @throws EpArgumentException when it is none of the forms
     */
    public static Routing parse(String text) {
        String[] parts = text.split(":", -1);
        int numbers = switch (parts[0]) {
            case "uniform", "local" -> 0;
            case "zipf", "to-rank", "to-expert" -> 1;
            case "grouped" -> 2;
            default -> -1;
        };
        try {
            if (numbers == parts.length - 1) {
                return new Routing(
                        parts[0],
                        numbers > 0 ? Double.parseDouble(parts[1]) : 0,
                        numbers > 1 ? Double.parseDouble(parts[2]) : 0);
            }
        } catch (NumberFormatException e) {
            throw refused(text, e);
        }
        throw refused(text, null);
    }

    private static EpArgumentException refused(String text, @org.jspecify.annotations.Nullable Throwable cause) {
        return new EpArgumentException(
                "routing",
                text,
                "uniform, zipf:S, to-rank:R, to-expert:E, local or grouped:G:N",
                "write for example zipf:1.2",
                cause);
    }
}
