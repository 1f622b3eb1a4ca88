package org.ep4j.topology.read;

import org.ep4j.topology.model.PciId;

/**
 * Values of {@code /sys}. What is missing or odd has the value for unknown.
 *
 * @param tree the files
 */
record SysFiles(FileTree tree) {
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
        return tree.link(device + "/driver").map(SysFiles::last).orElseGet(() -> uevent(device, "DRIVER"));
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

    static String last(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    /** Text of a file, empty when there is none. */
    String text(String path) {
        return tree.text(path).orElse("");
    }
}
