package org.ep4j.gpu.topology;

import java.util.List;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.hip.HipGpus;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyCopy;
import org.ep4j.topology.read.TopologySource;

/**
 * Names of AMD's GPUs, and xGMI links where KFD does not tell of them, from HIP. HIP is not even loaded on machines without
 * such GPUs, because asking it starts it.
 */
public final class HipSource implements TopologySource {
    @Override
    public String id() {
        return "hip";
    }

    @Override
    public Topology refine(Topology topology) {
        if (topology.gpus().stream().noneMatch(gpu -> gpu.vendor() == GpuVendor.AMD)) {
            return topology;
        }
        try {
            List<VisibleGpu> gpus = HipGpus.list();
            return gpus.isEmpty() ? topology : HipMerge.merge(topology, gpus);
        } catch (RuntimeException | LinkageError e) {
            return TopologyCopy.of(topology, topology.source(), part -> part)
                    .warn("HIP could not be used: " + e.getMessage())
                    .build();
        }
    }
}
