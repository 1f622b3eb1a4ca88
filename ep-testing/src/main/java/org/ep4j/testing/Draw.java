package org.ep4j.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.LongStream;

/** Draws random values with many extremes: one in ten is the least or the greatest one, or close to zero. */
public final class Draw {
    private static final String LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    private Draw() {}

    /** Draws a number from {@code min} to {@code max}. */
    public static int anInt(Random random, int min, int max) {
        return (int) aLong(random, min, max);
    }

    /** Draws a number from {@code min} to {@code max}; half of the numbers have all magnitudes equally often. */
    public static long aLong(Random random, long min, long max) {
        if (min > max) {
            throw new IllegalArgumentException("no number is in [" + min + ", " + max + "]");
        }
        if (extreme(random)) {
            long[] edges = LongStream.of(min, max, -1, 0, 1)
                    .filter(edge -> edge >= min && edge <= max)
                    .distinct()
                    .toArray();
            return edges[random.nextInt(edges.length)];
        }
        return random.nextBoolean() ? uniform(random, min, max) : small(random, min, max);
    }

    private static boolean extreme(Random random) {
        return random.nextInt(10) == 0;
    }

    private static long uniform(Random random, long min, long max) {
        if (max < Long.MAX_VALUE) {
            return random.nextLong(min, max + 1);
        }
        return min > Long.MIN_VALUE ? random.nextLong(min - 1, max) + 1 : random.nextLong();
    }

    /** Draws a number of a random count of bits, added to or subtracted from the number of the range that is closest to zero. */
    private static long small(Random random, long min, long max) {
        long centre = Math.max(min, Math.min(max, 0));
        long distance = random.nextLong() >>> (1 + random.nextInt(63));
        boolean up = random.nextBoolean();
        // As unsigned numbers, since the range may be larger than a long.
        if (Long.compareUnsigned(distance, up ? max - centre : centre - min) > 0) {
            return uniform(random, min, max);
        }
        return up ? centre + distance : centre - distance;
    }

    /** Draws one of the values, with equal probability. */
    public static <T> T oneOf(Random random, List<T> values) {
        return values.get(random.nextInt(values.size()));
    }

    /** Draws one of the values, with equal probability. */
    @SafeVarargs
    public static <T> T oneOf(Random random, T... values) {
        return values[random.nextInt(values.length)];
    }

    /** Draws a number of elements or characters; small ones are more frequent. */
    public static int size(Random random, int min, int max) {
        if (min < 0 || min > max) {
            throw new IllegalArgumentException("no size is in [" + min + ", " + max + "]");
        }
        if (extreme(random)) {
            return random.nextBoolean() ? min : max;
        }
        return min + random.nextInt(1 + random.nextInt(max - min + 1));
    }

    /** Draws a list of {@code min} to {@code max} elements. */
    public static <T> List<T> aList(Random random, int min, int max, Function<Random, T> element) {
        List<T> list = new ArrayList<>();
        for (int left = size(random, min, max); left > 0; left--) {
            list.add(element.apply(random));
        }
        return list;
    }

    /**
     * Draws a string of {@code min} to {@code max} {@code char}s: in equal parts ASCII, characters below the surrogates, any characters,
     * and any {@code char}s, whose surrogates need not be in pairs.
     */
    public static String aString(Random random, int min, int max) {
        int length = size(random, min, max);
        int kind = random.nextInt(4);
        StringBuilder text = new StringBuilder();
        while (text.length() < length) {
            text.appendCodePoint(
                    switch (kind) {
                        case 0 -> random.nextInt(0x80);
                        case 1 -> random.nextInt(Character.MIN_SURROGATE);
                        case 2 -> character(random, length - text.length());
                        default -> random.nextInt(0x10000);
                    });
        }
        return text.toString();
    }

    /** Draws a character, which may be a pair of surrogates where two {@code char}s are left. */
    private static int character(Random random, int left) {
        if (left > 1 && random.nextBoolean()) {
            return random.nextInt(Character.MIN_SUPPLEMENTARY_CODE_POINT, Character.MAX_CODE_POINT + 1);
        }
        int character = random.nextInt(0x10000 - 0x800);
        return character < Character.MIN_SURROGATE ? character : character + 0x800;
    }

    /** Draws a string of {@code min} to {@code max} letters of ASCII. */
    public static String letters(Random random, int min, int max) {
        StringBuilder text = new StringBuilder();
        for (int left = size(random, min, max); left > 0; left--) {
            text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
        }
        return text.toString();
    }
}
