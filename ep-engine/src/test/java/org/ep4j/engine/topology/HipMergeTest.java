package org.ep4j.engine.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuSwitch;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkBandwidths;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciId;
import org.ep4j.topology.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three GPUs, of which the first two are known to be linked, and what HIP says of them. */
@Tag("verify")
final class HipMergeTest {
    @Test
    void linksThatAreKnownStayAndOthersAreAdded() {
        HipGpu first = hip(0, 0, List.of(new HipGpu.Way(1, true, 1), new HipGpu.Way(2, true, 2)));
        HipGpu second = hip(1, 1, List.of(new HipGpu.Way(2, false, 2)));

        Topology merged = merge(List.of(first, second, hip(2, 2, List.of())));

        List<Gpu> gpus = merged.gpus();
        assertThat(merged.links(gpus.get(0), gpus.get(1))).containsExactly(new Link(LinkType.XGMI, 96, 2));
        assertThat(merged.links(gpus.get(0), gpus.get(2)))
                .containsExactly(new Link(LinkType.XGMI, LinkBandwidths.xgmi("gfx942") / 2, 1));
        assertThat(merged.links(gpus.get(1), gpus.get(2))).isEmpty();
    }

    @Test
    void devicesAreKnownByTheirAddressNotByTheirNumber() {
        HipGpu only = hip(0, 2, List.of());

        assertThat(merge(List.of(only)).gpus()).extracting(Gpu::model).containsExactly("", "", "AMD Instinct MI300X");
    }

    @Test
    void partitionsWithOneAddressAreLeftAlone() {
        Topology merged = merge(List.of(hip(0, 0, List.of(new HipGpu.Way(1, true, 1))), hip(1, 0, List.of())));

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

        Topology merged =
                HipMerge.merge(machine, List.of(hip(0, 0, List.of(new HipGpu.Way(1, true, 1))), hip(1, 1, List.of())));

        List<Gpu> gpus = merged.gpus();
        assertThat(merged.links(gpus.get(0), gpus.get(1))).isEmpty();
    }

    private static Gpu gpu(int host, int index) {
        return new Gpu(
                host,
                index,
                "GPU" + index,
                Optional.of(address(index)),
                PciId.UNKNOWN,
                GpuVendor.AMD,
                "gfx942",
                "",
                0,
                Optional.empty(),
                "");
    }

    private static Topology merge(List<HipGpu> shown) {
        Topology.Builder builder = Topology.builder("test");
        int host = builder.host("");
        Gpu[] gpus = new Gpu[3];
        for (int i = 0; i < gpus.length; i++) {
            gpus[i] = gpu(host, i);
            builder.add(gpus[i]);
        }
        builder.link(gpus[0], gpus[1], new Link(LinkType.XGMI, 96, 2));
        return HipMerge.merge(builder.build(), shown);
    }

    private static HipGpu hip(int ordinal, int bus, List<HipGpu.Way> ways) {
        return new HipGpu(ordinal, Optional.of(address(bus)), "AMD Instinct MI300X", ways);
    }

    private static PciAddress address(int bus) {
        return new PciAddress(0, bus, 0, 0);
    }
}
