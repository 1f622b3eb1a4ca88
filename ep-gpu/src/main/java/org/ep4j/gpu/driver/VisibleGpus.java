package org.ep4j.gpu.driver;

import java.util.List;

/**
 * The GPUs that a driver shows to this process.
 *
 * @param driver the driver and its version, for people
 * @param all the GPUs, by ordinal
 */
public record VisibleGpus(String driver, List<VisibleGpu> all) {
    public VisibleGpus {
        all = List.copyOf(all);
    }
}
