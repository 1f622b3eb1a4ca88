package org.ep4j.doctor;

import java.util.Optional;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.read.FileTree;

/**
 * The configuration space of a PCI function, as {@code /sys/bus/pci/devices/ADDRESS/config} holds it. Without the
 * capability SYS_ADMIN the kernel gives 64 bytes only, which hold no capability. Offsets are those of the PCI Express
 * base specification.
 */
final class PciConfig {
    private static final int FIRST_CAPABILITY = 0x34;
    private static final int EXPRESS = 0x10;
    private static final int EXTENDED = 0x100;
    private static final int ACS = 0x0d;

    private final byte[] bytes;

    private PciConfig(byte[] bytes) {
        this.bytes = bytes;
    }

    /** Empty when it cannot be read beyond its first 64 bytes. */
    static Optional<PciConfig> of(FileTree files, PciAddress address) {
        return of(files, address.toString());
    }

    static Optional<PciConfig> of(FileTree files, String address) {
        return files.bytes("/sys/bus/pci/devices/" + address + "/config")
                .filter(bytes -> bytes.length > 64)
                .map(PciConfig::new);
    }

    /** Device Capabilities 2 of the PCI Express capability. */
    Optional<Integer> deviceCapabilities2() {
        return express().map(at -> word32(at + 0x24));
    }

    /** Device Control 2 of the PCI Express capability. */
    Optional<Integer> deviceControl2() {
        return express().map(at -> word16(at + 0x28));
    }

    /** ACS control; empty when the function has no such capability or it cannot be read. */
    Optional<Integer> acsControl() {
        int at = EXTENDED;
        for (int hops = 0; at >= EXTENDED && at + 8 <= bytes.length && hops < 1024; hops++) {
            int header = word32(at);
            if ((header & 0xffff) == ACS) {
                return Optional.of(word16(at + 6));
            }
            at = header >>> 20;
        }
        return Optional.empty();
    }

    /** True when extended capabilities could be read. */
    boolean whole() {
        return bytes.length >= EXTENDED + 4;
    }

    private Optional<Integer> express() {
        int at = bytes[FIRST_CAPABILITY] & 0xfc;
        for (int hops = 0; at >= 0x40 && at + 2 <= bytes.length && hops < 64; hops++) {
            if ((bytes[at] & 0xff) == EXPRESS) {
                return at + 0x2c <= bytes.length ? Optional.of(at) : Optional.empty();
            }
            at = bytes[at + 1] & 0xfc;
        }
        return Optional.empty();
    }

    private int word16(int at) {
        return (bytes[at] & 0xff) | (bytes[at + 1] & 0xff) << 8;
    }

    private int word32(int at) {
        return word16(at) | word16(at + 2) << 16;
    }
}
