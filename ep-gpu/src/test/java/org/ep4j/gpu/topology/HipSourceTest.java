package org.ep4j.gpu.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three GPUs, of which the first two are known to be linked, and what HIP says of them. */
@Tag("verify")
final class HipSourceTest {
    private static final VisibleGpu.Peer XGMI = new VisibleGpu.Peer(true, true, 1);
    private static final VisibleGpu.Peer PCI = new VisibleGpu.Peer(true, false, 2);

    @Test
    void linksThatAreKnownStayAndOthersAreAdded() {
        VisibleGpu first = hip(0, 0, Map.of(1, XGMI, 2, new VisibleGpu.Peer(true, true, 2)));
        VisibleGpu second = hip(1, 1, Map.of(0, XGMI, 2, PCI));
        VisibleGpu third = hip(2, 2, Map.of(0, new VisibleGpu.Peer(true, true, 2), 1, PCI));

        Topology merged = merge(List.of(first, second, third));

        List<Gpu> gpus = merged.gpus();
        assertThat(merged.links(gpus.get(0), gpus.get(1))).containsExactly(new Link(LinkType.XGMI, 96, 2));
        assertThat(merged.links(gpus.get(0), gpus.get(2)))
                .containsExactly(new Link(LinkType.XGMI, LinkBandwidths.xgmi("gfx942") / 2, 1));
        assertThat(merged.links(gpus.get(1), gpus.get(2))).isEmpty();
    }

    @Test
    void devicesAreKnownByTheirAddressNotByTheirNumber() {
        VisibleGpu only = hip(0, 2, Map.of());

        assertThat(merge(List.of(only)).gpus()).extracting(Gpu::model).containsExactly("", "", "AMD Instinct MI300X");
    }

    @Test
    void partitionsWithOneAddressAreLeftAlone() {
        Topology merged = merge(List.of(hip(0, 0, Map.of(1, XGMI)), hip(1, 0, Map.of(0, XGMI))));

        assertThat(merged.gpus()).extracting(Gpu::model).containsOnly("");
    }

    @Test
    void partitionsOfLinkedPackagesAreJoinedAlready() {
        Topology.Builder builder = Topology.builder("test");
        int host = builder.host("");
        for (int i = 0; i < 2; i++) {
            Gpu gpu = gpu(host, i);
            GpuSwitch fabric = new GpuSwitch(host, "package " + i);
            builder.add(gpu).add(fabric).link(gpu, fabric, new Link(LinkType.XGMI, 819.2, 1));
        }
        builder.link(
                new GpuSwitch(host, "package 0"), new GpuSwitch(host, "package 1"), new Link(LinkType.XGMI, 48, 1));
        Topology machine = builder.build();

        Topology merged = HipSource.merge(machine, List.of(hip(0, 0, Map.of(1, XGMI)), hip(1, 1, Map.of(0, XGMI))));

        List<Gpu> gpus = merged.gpus();
        assertThat(merged.links(gpus.get(0), gpus.get(1))).isEmpty();
    }

    private static Gpu gpu(int host, int index) {
        return Gpu.builder(host, index, GpuVendor.AMD)
                .address(Optional.of(address(index)))
                .architecture("gfx942")
                .numa(0)
                .build();
    }

    private static Topology merge(List<VisibleGpu> shown) {
        Topology.Builder builder = Topology.builder("test");
        int host = builder.host("");
        Gpu[] gpus = new Gpu[3];
        for (int i = 0; i < gpus.length; i++) {
            gpus[i] = gpu(host, i);
            builder.add(gpus[i]);
        }
        builder.link(gpus[0], gpus[1], new Link(LinkType.XGMI, 96, 2));
        return HipSource.merge(builder.build(), shown);
    }

    private static VisibleGpu hip(int ordinal, int bus, Map<Integer, VisibleGpu.Peer> peers) {
        return new VisibleGpu(ordinal, "AMD Instinct MI300X", Optional.of(address(bus)), "gfx942", true, false, peers);
    }

    private static PciAddress address(int bus) {
        return new PciAddress(0, bus, 0, 0);
    }
}
