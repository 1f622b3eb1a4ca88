package org.ep4j.gpu.topology;

import java.util.Optional;
import org.ep4j.EpUnavailableException;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyCopy;
import org.ep4j.topology.read.TopologySource;

/** NVLinks, NVLink domains, names and compute capabilities of NVIDIA's GPUs, from NVML. */
public final class NvmlSource implements TopologySource {
    @Override
    public String id() {
        return "nvml";
    }

    @Override
    public Topology refine(Topology topology) {
        boolean expected = topology.gpus().stream().anyMatch(gpu -> gpu.vendor() == GpuVendor.NVIDIA);
        Optional<Nvml> nvml;
        try {
            nvml = Nvml.find();
        } catch (EpUnavailableException e) {
            return expected ? TopologyCopy.warned(topology, "NVLinks are not known: " + e.getMessage()) : topology;
        }
        if (nvml.isEmpty()) {
            return expected
                    ? TopologyCopy.warned(
                            topology,
                            "libnvidia-ml.so.1 is not found, so NVLinks are not known; install the driver's "
                                    + "user-space libraries, or run the container with the \"utility\" capability")
                    : topology;
        }
        try {
            return refine(topology, nvml.get());
        } catch (IllegalStateException e) {
            // The library without a driver is usual in images that run anywhere.
            return expected ? TopologyCopy.warned(topology, "NVLinks are not known: " + e.getMessage()) : topology;
        } catch (RuntimeException | LinkageError e) {
            return TopologyCopy.warned(topology, "NVML could not be used: " + e);
        }
    }

    /** What a library tells, with a warning for each GPU that it refuses. */
    static Topology refine(Topology topology, Nvml nvml) {
        Topology refined = new NvmlMerge(topology, nvml.gpus()).merge();
        for (String warning : nvml.warnings()) {
            refined = TopologyCopy.warned(refined, warning);
        }
        return refined;
    }
}
