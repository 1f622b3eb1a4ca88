package org.ep4j.cli.plan;

import java.util.Optional;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.NicOffers;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.spi.Check;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;

/**
 * {@code nvshmem-ibgda}: the GPU posts to a ConnectX or BlueField NIC itself. NVSHMEM drives mlx5 alone this way, and only
 * where the NIC reaches the GPU's memory.
 */
final class IbgdaRule implements BackendRule {
    @Override
    public String id() {
        return "nvshmem-ibgda";
    }

    @Override
    public ProbeReport describe(DescribeRequest request) {
        Requirements needs = new Requirements()
                .device(request.device(), "cuda", "an NVIDIA GPU", "use ibrc-multiqp or efa for other devices");
        Optional<NicPaths> nics = nics(request.locality());
        if (nics.isEmpty()) {
            return needs.add(
                            Check.fail(
                                    Requirements.NIC,
                                    "there is no mlx5 NIC with a port that is up; NICs here: "
                                            + NicTexts.families(request.locality()),
                                    "use ibrc-multiqp (bnxt, ionic, irdma) or efa; where a ConnectX is there, bring its port up"))
                    .report();
        }
        needs.add(
                Check.pass(Requirements.NIC, "mlx5 NIC " + nics.get().nearest().name()));
        return needs.add(
                        nics.get().direct()
                                ? Check.pass(Requirements.DIRECT, NicTexts.nearest(nics.get()))
                                : Check.fail(
                                        Requirements.DIRECT,
                                        NicTexts.tooFar(nics.get()),
                                        "put GPU and NIC below one PCIe switch, see that dma-buf or nvidia_peermem is"
                                                + " there, or use ibrc-multiqp, which stages"))
                .report();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        // The GPU's doorbell crosses PCIe once.
        return NicOffers.between(
                new NicOffers.Side(from, nics(from.locality())),
                new NicOffers.Side(to, nics(to.locality())),
                PathKind.DEVICE_POSTED,
                Estimates.NETWORK_MICROS + Estimates.PCI_MICROS);
    }

    private static Optional<NicPaths> nics(Locality locality) {
        return NicPaths.of(locality, nic -> nic.family() == NicFamily.MLX5);
    }
}
