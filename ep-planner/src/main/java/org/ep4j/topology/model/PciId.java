package org.ep4j.topology.model;

import java.util.Locale;

/**
 * PCI ids of a device; an id of -1 is unknown.
 *
 * @param vendor vendor id
 * @param device device id
 * @param subVendor subsystem vendor id
 * @param subDevice subsystem device id
 * @param classCode class code of 24 bits, such as {@code 0x060400}
 */
public record PciId(int vendor, int device, int subVendor, int subDevice, int classCode) {
    /** Nothing known. */
    public static final PciId UNKNOWN = new PciId(-1, -1, -1, -1, -1);

    @Override
    public String toString() {
        return hex(vendor) + ":" + hex(device);
    }

    private static String hex(int id) {
        return id < 0 ? "?" : String.format(Locale.ROOT, "%04x", id);
    }
}
