package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.StringTokenizer;

/**
 * A matrix of distances between objects of a hwloc topology, of version 2 or later.
 *
 * @param objects rows and columns, as kind and number: {@code OSDev:701}
 * @param values row by row
 */
record HwlocMatrix(List<String> objects, List<Double> values) {
    /** Bandwidth in megabytes a second; from a device to itself it is a million. */
    private static final int HIGHEST = 10_000_000;

    /** Matrix of a name such as {@code NVLinkBandwidth}; empty when the file has none. */
    static Optional<HwlocMatrix> named(XmlElement root, String name) {
        for (XmlElement element : root.children()) {
            if (element.name().startsWith("distances2") && element.value("name").equals(name)) {
                return Optional.of(read(element, name));
            }
        }
        return Optional.empty();
    }

    private static HwlocMatrix read(XmlElement element, String name) {
        int size = element.number("nbobjs", 1, Limits.GPUS, -1);
        if (size < 0) {
            throw element.wrong(name + " is of " + Faults.quote(element.value("nbobjs")) + " objects; 1 to "
                    + Limits.GPUS + " are understood");
        }
        // In a matrix over several kinds of object each index says its kind.
        boolean mixed = element.name().endsWith("hetero");
        List<String> objects = new ArrayList<>();
        for (String index : words(element, "indexes", size)) {
            objects.add(mixed ? index : element.value("type") + ":" + index);
        }
        List<String> words = words(element, "u64values", size * size);
        if (objects.size() != size || words.size() != size * size) {
            throw element.wrong(name + " of " + size + " objects has " + objects.size() + " indexes and " + words.size()
                    + " values; there must be " + size + " and " + size * size);
        }
        List<Double> values = words.stream().map(word -> value(element, word)).toList();
        return new HwlocMatrix(List.copyOf(objects), values);
    }

    double value(int row, int column) {
        return values.get(row * objects.size() + column);
    }

    /** Words of all elements of a name, and at most one more than there should be. */
    private static List<String> words(XmlElement element, String name, int most) {
        List<String> words = new ArrayList<>();
        for (XmlElement part : element.children(name)) {
            StringTokenizer tokens = new StringTokenizer(part.text());
            while (tokens.hasMoreTokens() && words.size() <= most) {
                words.add(tokens.nextToken());
            }
        }
        return words;
    }

    private static double value(XmlElement element, String word) {
        if (!word.matches("[0-9]{1,15}") || Double.parseDouble(word) > HIGHEST) {
            throw element.wrong("the matrix holds " + Faults.quote(word) + "; expected a number from 0 to " + HIGHEST);
        }
        return Double.parseDouble(word);
    }
}
