package org.ep4j.spi;

import java.time.Duration;
import org.ep4j.Device;
import org.ep4j.EpConfig;

/** Input of a probe: device, settings and time limit. Immutable. */
public sealed interface ProbeRequest {
    /**
     * Makes a request.
     *
     * @param device device that this rank would use
     * @param config settings of this rank
     * @param timeout longest time the probe may take
     */
    static ProbeRequest of(Device device, EpConfig config, Duration timeout) {
        return new ProbeRequestValue(device, config, timeout);
    }

    /** Device that this rank would use. */
    Device device();

    /** Settings of this rank. */
    EpConfig config();

    /** Longest time the probe may take. */
    Duration timeout();
}

record ProbeRequestValue(Device device, EpConfig config, Duration timeout) implements ProbeRequest {
    @Override
    public String toString() {
        return "probe of " + device + " within " + timeout;
    }
}
