package org.ep4j.topology.read;

import org.ep4j.topology.model.PciId;

/** Values of {@code /sys}; a value that is missing or odd counts as unknown. */
record SysFiles(FileTree tree) {
    private static final String DRIVER = "DRIVER=";

    /** A number with {@code 0x} or without, in the base that this says; -1 when there is none. */
    int number(String path) {
        try {
            return Integer.decode(text(path));
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    /** The number that a text such as {@code 400 Gb/sec (4X NDR)} begins with; 0 when it does not. */
    double leading(String path) {
        try {
            return Double.parseDouble(text(path).split("[^0-9.]", 2)[0]);
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
        return tree.link(device + "/driver")
                .map(SysFiles::last)
                .orElseGet(() -> text(device + "/uevent")
                        .lines()
                        .filter(line -> line.startsWith(DRIVER))
                        .findFirst()
                        .map(line -> line.substring(DRIVER.length()).strip())
                        .orElse(""));
    }

    static String last(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    /** Text of a file, empty when there is none. */
    String text(String path) {
        return tree.text(path).orElse("");
    }
}
