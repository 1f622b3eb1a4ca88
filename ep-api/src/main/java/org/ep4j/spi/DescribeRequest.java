package org.ep4j.spi;

import org.ep4j.Device;
import org.ep4j.topology.Locality;

/**
 * What a backend is asked about a machine that is known only by description.
 *
 * @param device device that the rank would use
 * @param locality the machine around the device
 * @param hostId equal for ranks that would share one operating system, different otherwise
 */
public record DescribeRequest(Device device, Locality locality, String hostId) {}
