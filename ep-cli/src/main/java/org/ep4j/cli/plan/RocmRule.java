package org.ep4j.cli.plan;

import java.util.Optional;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;

/** {@code rocm}: memory of AMD GPUs of one host mapped into each other, by xGMI, or by PCIe at any distance as RCCL does. */
final class RocmRule implements BackendRule {
    @Override
    public String id() {
        return "rocm";
    }

    @Override
    public ProbeReport describe(DescribeRequest request) {
        return new Requirements()
                .device(
                        request.device(),
                        "hip",
                        "an AMD GPU",
                        "use ipc-nvlink for NVIDIA GPUs and host-shm for the host device")
                .report();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        if (!from.hostId().equals(to.hostId())) {
            return new NoPath("they are on different hosts, and xGMI does not leave a host", "add a NIC backend");
        }
        Optional<GpuPath> path = GpuPaths.between(from, to);
        if (path.isEmpty()) {
            return new NoPath(
                    "the description shows no way between the GPUs",
                    "describe their links, or plan on the machine itself");
        }
        return path.get().offer();
    }
}
