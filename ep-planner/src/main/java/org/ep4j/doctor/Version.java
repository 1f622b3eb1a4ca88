package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.List;

/** Numbers with dots between them; missing ones count as 0. */
record Version(List<Integer> numbers) implements Comparable<Version> {
    static final Version UNKNOWN = new Version(List.of());

    Version {
        numbers = List.copyOf(numbers);
    }

    static Version of(Integer... numbers) {
        return new Version(List.of(numbers));
    }

    /** Reads the numbers at the beginning of a text. */
    static Version parse(String text) {
        List<Integer> numbers = new ArrayList<>();
        for (String part : text.split("[.\\-_+]", -1)) {
            if (!part.matches("[0-9]{1,9}")) {
                break;
            }
            numbers.add(Integer.parseInt(part));
        }
        return new Version(numbers);
    }

    boolean known() {
        return !numbers.isEmpty();
    }

    boolean atLeast(Integer... least) {
        return compareTo(of(least)) >= 0;
    }

    @Override
    public int compareTo(Version other) {
        for (int i = 0; i < Math.max(numbers.size(), other.numbers.size()); i++) {
            int order = Integer.compare(at(i), other.at(i));
            if (order != 0) {
                return order;
            }
        }
        return 0;
    }

    private int at(int place) {
        return place < numbers.size() ? numbers.get(place) : 0;
    }
}
