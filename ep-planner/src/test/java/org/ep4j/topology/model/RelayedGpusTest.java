package org.ep4j.topology.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** GPUs that are no neighbours, on machines where GPU links join some pairs alone. */
@Tag("verify")
class RelayedGpusTest {
    private final Topology.Builder builder = Topology.builder("test");
    private final List<Gpu> gpus = new ArrayList<>();

    private void gpus(int count, GpuVendor vendor) {
        int host = builder.host("");
        NumaNode node = new NumaNode(host, 0, Processor.UNKNOWN);
        builder.add(node);
        for (int i = 0; i < count; i++) {
            Gpu gpu = Gpu.builder(host, i, vendor).numa(0).build();
            gpus.add(gpu);
            builder.add(gpu).link(node, gpu, new Link(LinkType.PCI, 24, 1));
        }
    }

    private void join(int a, int b, double width) {
        LinkType type = gpus.get(a).vendor() == GpuVendor.AMD ? LinkType.XGMI : LinkType.NVLINK;
        builder.link(gpus.get(a), gpus.get(b), new Link(type, width, 1));
    }

    private Topology ring(GpuVendor vendor, double... widths) {
        gpus(widths.length, vendor);
        for (int i = 0; i < widths.length; i++) {
            join(i, (i + 1) % widths.length, widths[i]);
        }
        return builder.build();
    }

    @Test
    void twoLinksThroughAnotherGpuAreAKindOfTheirOwnWithTheNarrowerRate() {
        Topology ring = ring(GpuVendor.AMD, 50, 40, 30, 20);

        assertThat(ring.distance(gpus.get(0), gpus.get(2))).contains(new Distance(PathType.NVB, 40, 2));
        assertThat(ring.distance(gpus.get(0), gpus.get(1))).contains(new Distance(PathType.NVL, 50, 1));
        assertThat(Localities.of(ring, gpus.get(0), -1).peer(2).orElseThrow())
                .isEqualTo(GpuPeer.of(2, new Distance(PathType.NVB, 40, 2), LinkType.XGMI)
                        .through(List.of(1)));
    }

    @Test
    void amdMapsThroughAllGpusThatAreBetween() {
        Topology ring = ring(GpuVendor.AMD, 36, 36, 36, 36);

        GpuPath path = GpuPath.between(rank(ring, 0), rank(ring, 2)).orElseThrow();
        // A link carries its own pair and a half of each of the two that it is on the way of.
        assertThat(path.relays()).contains(new GpuPath.Relays(List.of(1, 3), 2));
        assertThat(path.offer().sharers()).isEqualTo(2);
        assertThat(path.offer().latencyMicros())
                .isGreaterThan(GpuPath.between(rank(ring, 0), rank(ring, 1))
                        .orElseThrow()
                        .offer()
                        .latencyMicros());
    }

    @Test
    void nvidiaMapsOverPcieForNvlinkPassesNothingOn() {
        Topology ring = ring(GpuVendor.NVIDIA, 40, 40, 40, 40);

        assertThat(ring.distance(gpus.get(0), gpus.get(2))).map(Distance::type).contains(PathType.NVB);
        assertThat(Localities.of(ring, gpus.get(0), -1).peer(2).orElseThrow())
                .isEqualTo(GpuPeer.of(2, new Distance(PathType.PHB, 24, 2), LinkType.PCI));
        assertThat(Localities.of(ring, gpus.get(0), -1).peer(1).orElseThrow().link())
                .isEqualTo(LinkType.NVLINK);
    }

    @Test
    void moreThanTwoLinksAreNotTaken() {
        Topology ring = ring(GpuVendor.AMD, 36, 36, 36, 36, 36, 36);

        assertThat(ring.distance(gpus.get(0), gpus.get(3))).map(Distance::type).contains(PathType.PHB);
    }

    @Test
    void noPathLeadsThroughAGpuFromASwitchOrToANic() {
        gpus(3, GpuVendor.NVIDIA);
        GpuSwitch shared = new GpuSwitch(0, "NVSwitch");
        builder.add(shared)
                .link(gpus.get(0), shared, new Link(LinkType.NVLINK, 300, 18))
                .link(gpus.get(1), shared, new Link(LinkType.NVLINK, 300, 18));
        join(1, 2, 40);
        Nic nic = new Nic(
                0,
                "mlx5_0",
                Optional.empty(),
                PciId.UNKNOWN,
                NicFamily.MLX5,
                "",
                "",
                0,
                Optional.empty(),
                true,
                List.of());
        Topology machine = builder.add(nic)
                .link(gpus.get(2), nic, new Link(LinkType.PCI, 48, 1))
                .build();

        assertThat(machine.distance(gpus.get(0), gpus.get(2)))
                .map(Distance::type)
                .contains(PathType.PHB);
        assertThat(machine.distances(gpus.get(1))).doesNotContainKey(nic);
    }

    private RankProfile rank(Topology machine, int gpu) {
        Locality around = Localities.of(machine, gpus.get(gpu), -1);
        return RankProfile.builder(gpu, "host", Device.hip(gpu))
                .pid(1)
                .locality(around)
                .build();
    }
}
