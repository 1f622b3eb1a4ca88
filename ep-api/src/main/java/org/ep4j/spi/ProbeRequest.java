package org.ep4j.spi;

import java.time.Duration;
import java.util.Objects;
import org.apiguardian.api.API;
import org.ep4j.Device;
import org.ep4j.EpConfig;

/** Input of a probe: device, settings and time limit. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class ProbeRequest {
    private final Device device;
    private final EpConfig config;
    private final Duration timeout;

    private ProbeRequest(Device device, EpConfig config, Duration timeout) {
        this.device = device;
        this.config = config;
        this.timeout = timeout;
    }

    /**
     * Makes a request.
     *
     * @param device device that this rank would use
     * @param config settings of this rank
     * @param timeout longest time the probe may take
     */
    public static ProbeRequest of(Device device, EpConfig config, Duration timeout) {
        return new ProbeRequest(device, config, timeout);
    }

    /** Device that this rank would use. */
    public Device device() {
        return device;
    }

    /** Settings of this rank. */
    public EpConfig config() {
        return config;
    }

    /** Longest time the probe may take. */
    public Duration timeout() {
        return timeout;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ProbeRequest that
                && device.equals(that.device)
                && config.equals(that.config)
                && timeout.equals(that.timeout);
    }

    @Override
    public int hashCode() {
        return Objects.hash(device, config, timeout);
    }

    /** The device and the time limit, for messages. */
    @Override
    public String toString() {
        return "probe of " + device + " within " + timeout;
    }
}
