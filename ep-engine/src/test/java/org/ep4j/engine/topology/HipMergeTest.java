package org.ep4j.engine.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.ep4j.topology.Gpu;
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

    private static Topology merge(List<HipGpu> shown) {
        Topology.Builder builder = Topology.builder("test");
        int host = builder.host("");
        Gpu[] gpus = new Gpu[3];
        for (int i = 0; i < gpus.length; i++) {
            gpus[i] = new Gpu(
                    host,
                    i,
                    "GPU" + i,
                    Optional.of(address(i)),
                    PciId.UNKNOWN,
                    GpuVendor.AMD,
                    "gfx942",
                    "",
                    0,
                    Optional.empty(),
                    "");
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
