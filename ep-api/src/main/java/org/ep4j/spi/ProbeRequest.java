package org.ep4j.spi;

import java.time.Duration;
import org.ep4j.Device;
import org.ep4j.config.EpConfig;

/**
 * Input of a probe.
 *
 * @param device device that this rank would use
 * @param config resolved settings
 * @param deadline longest time the probe may take
 */
public record ProbeRequest(Device device, EpConfig config, Duration deadline) {}
