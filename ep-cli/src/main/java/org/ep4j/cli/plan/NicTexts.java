package org.ep4j.cli.plan;

import java.util.stream.Collectors;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;

/** What is said of NICs. */
final class NicTexts {
    private NicTexts() {}

    /** {@code MLX5, EFA}, or {@code none}. */
    static String families(Locality locality) {
        String found = locality.nics().stream()
                .map(nic -> nic.family().name())
                .distinct()
                .sorted()
                .collect(Collectors.joining(", "));
        return found.isEmpty() ? "none" : found;
    }

    /** {@code mlx5_0:1 is PIX}. */
    static String nearest(NicPaths nics) {
        return nics.nearest().name() + " is " + nics.nearest().nic().distance().type();
    }

    /** Why no NIC reaches GPU memory. */
    static String tooFar(NicPaths nics) {
        boolean flag = !nics.nearest().nic().gpuDirect().orElse(true);
        return flag
                ? nearest(nics) + ", but GPU or NIC is said to be unable to do GPUDirect RDMA"
                : nearest(nics) + ", too far for GPUDirect RDMA, which reaches to " + PathType.P2C;
    }
}
