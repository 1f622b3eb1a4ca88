package org.ep4j.spi;

import java.util.Map;
import org.ep4j.Device;
import org.ep4j.config.EpConfig;
import org.ep4j.topology.Locality;

/**
 * Input of {@link EpBackendProvider#describe}: a rank on a machine that is known only by description.
 *
 * @param device device that the rank would use
 * @param locality the machine around the device
 * @param hostId equal for ranks that would share one operating system, different otherwise
 * @param config settings of that rank
 */
public record DescribeRequest(Device device, Locality locality, String hostId, EpConfig config) {
    /** Creates a request for a rank without settings. */
    public DescribeRequest(Device device, Locality locality, String hostId) {
        this(device, locality, hostId, EpConfig.builder(Map.of(), Map.of()).build());
    }
}
