package org.ep4j.topology.read;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.model.TopologyException;

/**
 * An element of an XML file with the place where it begins.
 *
 * @param source name of the file for messages
 * @param line where its start tag ends, from 1
 * @param name its name
 * @param attributes its attributes
 * @param children elements in it
 * @param text characters directly in it, without white space at the ends
 */
record XmlElement(
        String source, int line, String name, Map<String, String> attributes, List<XmlElement> children, String text) {
    /** What C's {@code strtol(text, end, 0)} takes from the beginning of a text; octal is not meant by anyone. */
    private static final Pattern NUMBER = Pattern.compile("\\s*([+-]?)(?:0[xX]([0-9a-fA-F]{1,15})|([0-9]{1,18})).*");

    Optional<String> attribute(String key) {
        return Optional.ofNullable(attributes.get(key));
    }

    String value(String key) {
        return attributes.getOrDefault(key, "");
    }

    List<XmlElement> children(String kind) {
        return children.stream().filter(child -> child.name().equals(kind)).toList();
    }

    /** Number of an attribute, held to the range of an int; empty when it is missing or no number. */
    OptionalInt number(String key) {
        Matcher number = NUMBER.matcher(value(key));
        if (!number.matches()) {
            return OptionalInt.empty();
        }
        String hex = number.group(2);
        long size = hex != null ? Long.parseLong(hex, 16) : Long.parseLong(number.group(3));
        long signed = number.group(1).equals("-") ? -size : size;
        return OptionalInt.of((int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, signed)));
    }

    /** Number of an attribute if it is within limits, else another. */
    int number(String key, int least, int most, int otherwise) {
        OptionalInt number = number(key);
        return number.isPresent() && number.getAsInt() >= least && number.getAsInt() <= most
                ? number.getAsInt()
                : otherwise;
    }

    /** Refuses a file that has more of something than is read. */
    void limit(int found, int most, String what) {
        if (found > most) {
            throw wrong("more than " + most + " " + what);
        }
    }

    /** Says that the file cannot be understood here. */
    TopologyException wrong(String reason) {
        return Faults.at(source, line, reason);
    }
}
