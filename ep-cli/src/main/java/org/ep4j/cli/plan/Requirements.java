package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;

/** What a described backend needs of the machine around one rank, checked one by one. */
final class Requirements {
    /** The device is of a kind that the backend serves. */
    static final String DEVICE = "EP-PLAN-002";

    private final List<Check> checks = new ArrayList<>();

    Requirements device(Device device, String type, String what, String remedy) {
        checks.add(
                device.type().equals(type)
                        ? Check.pass(DEVICE, "device " + type)
                        : Check.fail(DEVICE, "device " + device.type() + " is not " + what, remedy));
        return this;
    }

    Requirements add(Check check) {
        checks.add(check);
        return this;
    }

    ProbeReport report() {
        return new ProbeReport(checks, Map.of());
    }
}
