package org.ep4j.cli.plan;

import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import org.ep4j.Device;
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
 * {@code ibrc-multiqp}: a host thread posts to reliable connections of any verbs NIC that has them. RDMA NICs of an unknown
 * kind, as templates of clouds hold them, are taken for such. NICs that the kernel emulates serve host memory alone.
 */
final class VerbsRule implements BackendRule {
    private static final Set<NicFamily> HARDWARE =
            EnumSet.of(NicFamily.MLX5, NicFamily.BNXT, NicFamily.IONIC, NicFamily.IRDMA);

    @Override
    public String id() {
        return "ibrc-multiqp";
    }

    @Override
    public ProbeReport describe(DescribeRequest request) {
        Requirements needs = new Requirements();
        Optional<NicPaths> nics = nics(request.device(), request.locality());
        if (nics.isEmpty()) {
            return needs.add(Check.fail(
                            Requirements.NIC,
                            "there is no NIC with reliable connections (mlx5, bnxt, ionic, irdma"
                                    + (gpu(request.device()) ? "" : ", rxe, siw")
                                    + ") and a port that is up; NICs here: " + NicTexts.families(request.locality()),
                            "use efa on EFA, Slingshot and plain Ethernet; otherwise bring a port up"))
                    .report();
        }
        boolean unknown = hardware(request.locality()).isEmpty() && gpu(request.device());
        return needs.add(
                        unknown
                                ? Check.warn(
                                        Requirements.NIC,
                                        NicTexts.nearest(nics.get()) + ": the kind of NIC is not known",
                                        "take a description with PCI ids or drivers, or plan on the machine itself")
                                : Check.pass(Requirements.NIC, NicTexts.nearest(nics.get())))
                .add(
                        nics.get().direct()
                                ? Check.pass(Requirements.DIRECT, "it reaches the memory of the device")
                                : Check.warn(
                                        Requirements.DIRECT,
                                        NicTexts.tooFar(nics.get()) + ": bytes go through host memory",
                                        "put GPU and NIC below one PCIe switch, and see that dma-buf or peer memory is there"))
                .report();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        // A command of a GPU and the doorbell cross PCIe; host memory needs the doorbell alone.
        int crossings = gpu(from.device()) ? 2 : 1;
        return NicOffers.between(
                new NicOffers.Side(from, nics(from.device(), from.locality())),
                new NicOffers.Side(to, nics(to.device(), to.locality())),
                PathKind.HOST_POSTED,
                Estimates.NETWORK_MICROS + crossings * Estimates.PCI_MICROS);
    }

    private static boolean gpu(Device device) {
        return !device.type().equals("host");
    }

    private static Optional<NicPaths> nics(Device device, Locality locality) {
        Optional<NicPaths> hardware =
                hardware(locality).or(() -> NicPaths.of(locality, nic -> nic.family() == NicFamily.OTHER_RDMA));
        return gpu(device)
                ? hardware
                : hardware.or(() -> NicPaths.of(locality, nic -> nic.family().software()));
    }

    private static Optional<NicPaths> hardware(Locality locality) {
        return NicPaths.of(locality, nic -> HARDWARE.contains(nic.family()));
    }
}
