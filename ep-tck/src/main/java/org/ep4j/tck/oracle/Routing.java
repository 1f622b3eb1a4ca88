package org.ep4j.tck.oracle;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.ep4j.EpArgumentException;
import org.jspecify.annotations.Nullable;

/**
 * The way in which tokens choose experts, as text: {@code uniform}; {@code zipf:S} (expert at popularity i drawn with weight
 * 1 / (i + 1)^S); {@code to-rank:R} (only experts of one rank); {@code to-expert:E} (always this one first, the others
 * uniform); {@code local} (only experts of the token's own rank); {@code grouped:G:N} (experts in G groups, a token
 * draws from N of them, as group-limited gates do).
 *
 * @param kind one of the names above
 * @param first its first number, 0 where it has none
 * @param second its second number, 0 where it has none
 */
public record Routing(String kind, double first, double second) {
    /** Routing in which every expert is equally likely. */
    public static final Routing UNIFORM = new Routing("uniform", 0, 0);

    private static final int REDRAWS = 64;

    /** Returns a routing skewed by a Zipf law; 0 is uniform. */
    public static Routing zipf(double factor) {
        return new Routing("zipf", factor, 0);
    }

    /** Returns a routing in which a token draws from {@code perToken} of {@code groups} groups of consecutive experts. */
    public static Routing grouped(int groups, int perToken) {
        return new Routing("grouped", groups, perToken);
    }

    /**
     * Parses the text form.
     *
     * @throws EpArgumentException when the text has none of the forms
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

    private static EpArgumentException refused(String text, @Nullable Throwable cause) {
        return new EpArgumentException(
                "routing",
                text,
                "uniform, zipf:S, to-rank:R, to-expert:E, local or grouped:G:N",
                "write for example zipf:1.2",
                cause);
    }

    /** Draws top-k lists for experts whose ranks are known. */
    static final class Sampler {
        private final Routing routing;
        private final int[] owner;
        private final int[] popularity;
        private final double[] cumulative;

        Sampler(Routing routing, int[] owner, long seed) {
            this.routing = routing;
            this.owner = owner;
            this.popularity = shuffled(owner.length, new SplitMix64(SplitMix64.hash(seed)));
            this.cumulative = new double[owner.length];
            double sum = 0;
            for (int i = 0; i < owner.length; i++) {
                sum += Math.pow(i + 1, -routing.first());
                cumulative[i] = sum;
            }
        }

        /** Fills {@code out} with distinct experts, or -1 where the routing has no more. */
        void draw(int rank, SplitMix64 random, int[] out) {
            Arrays.fill(out, -1);
            int[] pool = pool(rank, random);
            int filled = 0;
            if (routing.kind().equals("to-expert")) {
                out[filled++] = (int) routing.first();
            }
            for (int tries = 0; filled < out.length && tries < REDRAWS * out.length; tries++) {
                int expert = routing.kind().equals("zipf") ? zipf(random) : pool[random.nextInt(pool.length)];
                if (!contains(out, filled, expert)) {
                    out[filled++] = expert;
                }
            }
            for (int i = 0; filled < out.length && i < pool.length; i++) {
                if (!contains(out, filled, pool[i])) {
                    out[filled++] = pool[i];
                }
            }
        }

        private int[] pool(int rank, SplitMix64 random) {
            return switch (routing.kind()) {
                case "to-rank" -> ownedBy((int) routing.first());
                case "local" -> ownedBy(rank);
                case "grouped" -> grouped(random);
                default -> popularity;
            };
        }

        private int[] ownedBy(int rank) {
            int[] owned = IntStream.range(0, owner.length)
                    .filter(e -> owner[e] == rank)
                    .toArray();
            return owned.length == 0 ? popularity : owned;
        }

        private int[] grouped(SplitMix64 random) {
            int groups = (int) routing.first();
            int[] order = shuffled(groups, random);
            int[] chosen = Arrays.copyOf(order, Math.min(groups, (int) routing.second()));
            int[] members = IntStream.range(0, owner.length)
                    .filter(e -> contains(chosen, chosen.length, (int) ((long) e * groups / owner.length)))
                    .toArray();
            return members.length == 0 ? popularity : members;
        }

        private int zipf(SplitMix64 random) {
            double point = random.nextDouble() * cumulative[owner.length - 1];
            int index = Arrays.binarySearch(cumulative, point);
            return popularity[Math.min(owner.length - 1, index < 0 ? -index - 1 : index)];
        }

        private static int[] shuffled(int size, SplitMix64 random) {
            int[] order = IntStream.range(0, size).toArray();
            for (int i = size - 1; i > 0; i--) {
                int j = random.nextInt(i + 1);
                int swapped = order[i];
                order[i] = order[j];
                order[j] = swapped;
            }
            return order;
        }

        private static boolean contains(int[] array, int length, int value) {
            return Arrays.stream(array, 0, length).anyMatch(element -> element == value);
        }
    }
}
