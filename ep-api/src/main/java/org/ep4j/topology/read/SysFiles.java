package org.ep4j.topology.read;

import org.ep4j.topology.PciId;
import org.ep4j.topology.Printable;

/**
 * Values of {@code /sys}. What is missing or odd has the value for unknown.
 *
 * @param tree the files
 */
record SysFiles(FileTree tree) {
    /** Characters of a text. The names that are read from here have some tens. */
    private static final int LONGEST = 256;

    /** A number with {@code 0x} or without, in the base that this says; -1 when there is none. */
    int number(String path) {
        return tree.text(path).map(SysFiles::number0).orElse(-1);
    }

    private static int number0(String text) {
        try {
            return Integer.decode(text.isEmpty() ? "-1" : text);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    /** The number that a text such as {@code 400 Gb/sec (4X NDR)} begins with; 0 when it does not. */
    double leading(String path) {
        String digits = tree.text(path).orElse("").split("[^0-9.]", 2)[0];
        try {
            return digits.isEmpty() ? 0 : Double.parseDouble(digits);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    /** Ids of a PCI function. */
    PciId id(String device) {
        return new PciId(
                number(device + "/vendor"),
                number(device + "/device"),
                number(device + "/subsystem_vendor"),
                number(device + "/subsystem_device"),
                number(device + "/class"));
    }

    /** Name of the driver of a device; empty when it has none. */
    String driver(String device) {
        return known(tree.link(device + "/driver").map(SysFiles::last).orElseGet(() -> uevent(device, "DRIVER")));
    }

    private String uevent(String device, String key) {
        return tree.text(device + "/uevent")
                .orElse("")
                .lines()
                .filter(line -> line.startsWith(key + "="))
                .findFirst()
                .map(line -> line.substring(key.length() + 1).strip())
                .orElse("");
    }

    /** Last component of a path. */
    static String last(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    /** Text of a file; empty when there is none, or more than a name has. */
    String text(String path) {
        return known(tree.text(path).orElse(""));
    }

    private static String known(String text) {
        String printable = Printable.of(text);
        return printable.length() > LONGEST ? "" : printable;
    }
}
