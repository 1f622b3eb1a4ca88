package org.ep4j.cli.doctor;

import java.util.List;
import org.ep4j.spi.Check;

/**
 * What a device or backend says of itself.
 *
 * @param kind whether it is a device or a backend, in that word
 * @param name type of the device, id of the backend
 * @param devices devices that it was asked for, with the same outcome for all of them
 * @param usable whether it can be used
 * @param checks its checks, for the first of the devices
 */
record Probe(String kind, String name, List<String> devices, boolean usable, List<Check> checks) {
    /** The provider can be loaded and probed. */
    static final String BROKEN = "EP-SPI-001";

    Probe {
        devices = List.copyOf(devices);
        checks = List.copyOf(checks);
    }

    /** True when somebody looking for trouble wants to see it. */
    boolean troubled() {
        return !usable || checks.stream().anyMatch(check -> check.status() == Check.Status.WARN);
    }
}
