package org.ep4j.cli.plan;

import java.util.Optional;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.topology.PathType;

/**
 * {@code ipc-nvlink}: memory of NVIDIA GPUs mapped into each other, by NVLink on a host or in a domain of hosts, or by PCIe
 * as far as NCCL uses it by default (one PCIe tree, {@code NCCL_P2P_LEVEL=PXB}).
 */
final class NvlinkRule implements BackendRule {
    @Override
    public String id() {
        return "ipc-nvlink";
    }

    @Override
    public ProbeReport describe(DescribeRequest request) {
        return new Requirements()
                .device(
                        request.device(),
                        "cuda",
                        "an NVIDIA GPU",
                        "use rocm for AMD GPUs and host-shm for the host device")
                .report();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        Optional<GpuPath> path = GpuPaths.between(from, to);
        if (path.isPresent()) {
            GpuPath way = path.get();
            if (way.gpuLinks() || way.distance().compareTo(PathType.PXB) <= 0) {
                return way.offer();
            }
            return new NoPath(
                    "the GPUs have no NVLink, and PCIe between them is " + way.distance()
                            + ", beyond PXB up to which peer-to-peer is used",
                    "choose GPUs below one PCIe switch, or let their bytes take a NIC or host memory");
        }
        if (!from.hostId().equals(to.hostId())) {
            return new NoPath(
                    "they are on different hosts and share no NVLink domain",
                    "multi-node NVLink needs equal cluster UUID and clique id and an IMEX channel on both hosts"
                            + " (--domain-hosts plans with one); otherwise a NIC backend connects them");
        }
        return new NoPath(
                "the description shows no way between the GPUs", "describe their links, or plan on the machine itself");
    }
}
