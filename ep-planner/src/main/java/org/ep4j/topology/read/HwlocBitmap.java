package org.ep4j.topology.read;

import java.util.List;

/**
 * Sets of numbers as hwloc and the kernel print them: words of 32 bits in hexadecimal, the highest first, separated by commas; an empty word
 * is zero, and a first word {@code 0xf...f} stands for all higher numbers. Words that are no numbers are empty.
 */
final class HwlocBitmap {
    private static final String ENDLESS = "0xf...f";
    private static final String PREFIX = "0x";
    private static final int BITS = 32;

    private final List<String> words;

    HwlocBitmap(String text) {
        words = text.isEmpty() ? List.of() : List.of(text.split(",", -1));
    }

    boolean contains(int number) {
        if (number < 0 || words.isEmpty()) {
            return false;
        }
        boolean endless = words.get(0).equals(ENDLESS);
        int place = words.size() - 1 - number / BITS;
        if (place < 0 || (place == 0 && endless)) {
            return endless;
        }
        return (word(words.get(place)) >> (number % BITS) & 1) != 0;
    }

    /** Size of the set; 0 for an endless set. */
    int size() {
        return words.contains(ENDLESS)
                ? 0
                : words.stream().mapToInt(text -> Long.bitCount(word(text))).sum();
    }

    private static long word(String text) {
        String digits = text.startsWith(PREFIX) ? text.substring(PREFIX.length()) : text;
        return digits.matches("[0-9a-fA-F]{1,8}") ? Long.parseLong(digits, 16) : 0;
    }
}
