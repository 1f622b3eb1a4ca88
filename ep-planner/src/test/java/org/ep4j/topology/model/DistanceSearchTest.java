package org.ep4j.topology.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class DistanceSearchTest {
    private static final PciId NO_ID = PciId.UNKNOWN;

    private final Topology.Builder builder = Topology.builder("test");
    private final NumaNode zero = new NumaNode(0, 0, Processor.UNKNOWN);
    private final NumaNode one = new NumaNode(0, 1, Processor.UNKNOWN);
    private final Gpu gpu = gpu(0);
    private final Nic nic = nic("mlx5_0", 0);

    @Test
    void cardsAreNamedAlikeAroundTheDevicesOfEqualHosts() {
        assertThat(aroundTheGpu("1070:fd03:0000:0001"))
                .isEqualTo(aroundTheGpu("1070:fd03:0000:0002"))
                .extracting(NicReach::card)
                .containsExactly("mlx5_0", "mlx5_0");
    }

    private List<NicReach> aroundTheGpu(String card) {
        Topology.Builder machine = Topology.builder("test").add(gpu);
        for (String name : List.of("mlx5_0", "mlx5_1")) {
            Nic port = new Nic(
                    0,
                    name,
                    Optional.empty(),
                    NO_ID,
                    NicFamily.MLX5,
                    "",
                    card,
                    0,
                    Optional.empty(),
                    true,
                    List.of(NicPort.of(1, 400)));
            machine.add(port).link(zero, port, pci(48));
        }
        return Localities.of(machine.link(zero, gpu, pci(48)).build(), gpu, -1).nics();
    }

    @Test
    void takesTheNearerWayEvenWhenItIsNarrower() {
        PciSwitch between = bridge("0000:01:00.0", NO_ID);
        Topology topology = builder.link(zero, gpu, pci(48))
                .link(zero, nic, pci(48))
                .link(between, gpu, pci(3))
                .link(between, nic, pci(3))
                .add(gpu)
                .add(nic)
                .build();
        assertThat(topology.distance(gpu, nic)).contains(new Distance(PathType.PIX, 3, 2));
    }

    @Test
    void takesTheWiderOfTwoEquallyNearWays() {
        PciSwitch narrow = bridge("0000:01:00.0", NO_ID);
        PciSwitch wide = bridge("0000:02:00.0", NO_ID);
        Topology topology = builder.link(narrow, gpu, pci(12))
                .link(narrow, nic, pci(12))
                .link(wide, gpu, pci(24))
                .link(wide, nic, pci(24))
                .build();
        assertThat(topology.distance(gpu, nic).orElseThrow().gigabytesPerSecond())
                .isEqualTo(24);
    }

    @Test
    void routesNothingThroughAGpuOrANic() {
        Gpu middle = gpu(1);
        Nic aside = nic("mlx5_1", 0);
        Topology topology = builder.link(gpu, middle, new Link(LinkType.NVLINK, 100, 4))
                .link(middle, nic, pci(48))
                .link(gpu, aside, pci(48))
                .link(aside, nic, pci(48))
                .build();
        assertThat(topology.distance(gpu, nic)).isEmpty();
        assertThat(topology.distance(gpu, middle)).map(Distance::type).contains(PathType.NVL);
    }

    @Test
    void isTheSameInBothDirections() {
        Topology topology = builder.add(gpu)
                .add(nic)
                .link(zero, gpu, new Link(LinkType.C2C, 200, 1))
                .link(zero, nic, pci(48))
                .build();
        assertThat(topology.distance(gpu, nic)).map(Distance::type).contains(PathType.P2C);
        assertThat(topology.distance(nic, gpu)).isEqualTo(topology.distance(gpu, nic));
    }

    @Test
    void grantsCoherentWaysOnHostBridgesOfTheSameNode() {
        HostBridge bridge = new HostBridge(0, "pci0000:00");
        Topology topology = builder.add(gpu)
                .add(nic)
                .link(zero, gpu, new Link(LinkType.C2C, 200, 1))
                .link(zero, bridge, new Link(LinkType.ROOT, 5000, 1))
                .link(bridge, nic, pci(48))
                .build();
        assertThat(topology.distance(gpu, nic)).map(Distance::type).contains(PathType.P2C);
    }

    @Test
    void doesNotTakeAHostBridgeOfTwoNodesForALinkBetweenThem() {
        HostBridge shared = new HostBridge(0, "pci0000:00");
        Topology topology = builder.link(zero, gpu, pci(48))
                .link(one, nic, pci(48))
                .link(zero, shared, new Link(LinkType.ROOT, 5000, 1))
                .link(one, shared, new Link(LinkType.ROOT, 5000, 1))
                .link(zero, one, new Link(LinkType.CPU, 16, 1))
                .build();
        assertThat(topology.distance(gpu, nic)).map(Distance::type).contains(PathType.SYS);
    }

    @Test
    void countsTheLevelsOfABroadcomSwitchOfTheFourthGenerationOnce() {
        PciId id = new PciId(0x1000, 0xc010, 0x1000, 0xa032, 0x060400);
        PciSwitch upper = bridge("0000:c1:00.0", id);
        PciSwitch left = bridge("0000:c3:00.0", id);
        PciSwitch right = bridge("0000:d3:00.0", id);
        Topology topology = builder.add(upper)
                .add(left)
                .add(right)
                .link(upper, left, pci(24))
                .link(upper, right, pci(24))
                .link(left, gpu, pci(24))
                .link(right, nic, pci(24))
                .build();
        assertThat(topology.only(PciSwitch.class)).containsExactly(upper);
        assertThat(topology.distance(gpu, nic)).map(Distance::type).contains(PathType.PIX);
    }

    @Test
    void aCopyDoesNotMergeTheLevelsOfSwitchesOnceMore() {
        PciId id = new PciId(0x1000, 0xc010, 0x1000, 0xa016, 0x060400);
        List<PciSwitch> chain = List.of(
                bridge("0000:01:00.0", id),
                bridge("0000:02:00.0", id),
                bridge("0000:03:00.0", id),
                bridge("0000:04:00.0", id));
        chain.forEach(builder::add);
        for (int i = 1; i < chain.size(); i++) {
            builder.link(chain.get(i - 1), chain.get(i), pci(24));
        }
        Topology read = builder.add(gpu)
                .add(nic)
                .link(chain.get(1), nic, pci(24))
                .link(chain.get(3), gpu, pci(24))
                .build();
        Topology copy = read.copy("copy", Optional::of).build();
        assertThat(read.distance(gpu, nic)).contains(new Distance(PathType.PXB, 24, 3));
        assertThat(copy.distance(gpu, nic)).isEqualTo(read.distance(gpu, nic));
    }

    @Test
    void partsLeftOutOfACopyTakeTheirLinksWithThem() {
        Topology read = builder.add(zero)
                .add(gpu)
                .add(nic)
                .link(zero, gpu, pci(48))
                .link(zero, nic, pci(48))
                .build();
        Topology copy = read.copy("copy", part -> part instanceof Gpu ? Optional.empty() : Optional.of(part))
                .build();
        assertThat(copy.parts()).containsExactly(zero, nic);
        assertThat(copy.neighbours(nic)).containsExactly(zero);
    }

    @Test
    void mergesNoSwitchesOfDifferentGenerations() {
        PciSwitch upper = bridge("0000:c1:00.0", new PciId(0x1000, 0xc030, 0x1000, 0x0072, 0x060400));
        PciSwitch lower = bridge("0000:c3:00.0", new PciId(0x1000, 0xc010, 0x1000, 0xa032, 0x060400));
        Topology topology =
                builder.add(upper).add(lower).link(upper, lower, pci(24)).build();
        assertThat(topology.only(PciSwitch.class)).containsExactly(upper, lower);
    }

    @Test
    void keepsTheFirstHundredWarnings() {
        for (int i = 0; i < 200; i++) {
            builder.warn("warning " + i);
        }
        assertThat(builder.build().warnings()).hasSize(100).contains("warning 99");
    }

    private static Link pci(double width) {
        return new Link(LinkType.PCI, width, 1);
    }

    private static PciSwitch bridge(String address, PciId id) {
        return new PciSwitch(0, PciAddress.parse(address).orElseThrow(), id);
    }

    private static Gpu gpu(int index) {
        return Gpu.builder(0, index, GpuVendor.NVIDIA).numa(0).build();
    }

    private static Nic nic(String name, int numa) {
        return new Nic(
                0, name, Optional.empty(), NO_ID, NicFamily.MLX5, "", name, numa, Optional.empty(), true, List.of());
    }
}
