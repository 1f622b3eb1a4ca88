package org.ep4j.gpu.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.ep4j.gpu.topology.Nvml.NvmlGpu;
import org.ep4j.gpu.topology.NvmlSource.NvmlMerge;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three GPUs on PCI, and what NVML may say of them. */
@Tag("verify")
final class NvmlMergeTest {
    private static final NvmlGpu.Remote HIDDEN = new NvmlGpu.Remote(Optional.empty(), NvmlGpu.Kind.UNKNOWN);

    @Test
    void linksWhoseOtherEndIsHiddenLeadToASwitch() {
        Topology merged = merge(List.of(gpu(0, 0, HIDDEN, 18), gpu(1, 1, HIDDEN, 18), gpu(2, 2, HIDDEN, 17)));

        Part between = merged.only(GpuSwitch.class).get(0);
        List<Gpu> gpus = merged.gpus();
        assertThat(merged.links(gpus.get(0), between))
                .containsExactly(new Link(LinkType.NVLINK, 18 * LinkBandwidths.nvlink(90), 18));
        assertThat(merged.distance(gpus.get(0), gpus.get(2)))
                .hasValueSatisfying(distance -> assertThat(distance.type()).isEqualTo(PathType.NVL))
                .hasValueSatisfying(distance ->
                        assertThat(distance.gigabytesPerSecond()).isEqualTo(17 * LinkBandwidths.nvlink(90)));
    }

    @Test
    void linksBetweenGpusCountOnceThoughBothEndsReportThem() {
        Topology merged = merge(List.of(gpu(0, 0, to(1), 6), gpu(1, 1, to(0), 6), gpu(2, 2, HIDDEN, 0)));

        List<Gpu> gpus = merged.gpus();
        assertThat(merged.links(gpus.get(0), gpus.get(1)))
                .containsExactly(new Link(LinkType.NVLINK, 6 * LinkBandwidths.nvlink(90), 6));
        assertThat(merged.only(GpuSwitch.class)).isEmpty();
    }

    @Test
    void namesCapabilitiesAndDomainsAreFilled() {
        Gpu gpu = merge(List.of(gpu(0, 0, HIDDEN, 1))).gpus().get(0);

        assertThat(gpu.architecture()).isEqualTo("sm_90");
        assertThat(gpu.model()).isEqualTo("NVIDIA H200");
        assertThat(gpu.clique()).isEqualTo("cluster/1");
        assertThat(gpu.numa()).isZero();
    }

    @Test
    void gpusThatNvmlDoesNotShowAreLeftOut() {
        Topology merged = merge(List.of(gpu(0, 1, HIDDEN, 1), gpu(1, 2, HIDDEN, 1)));

        assertThat(merged.gpus())
                .extracting(gpu -> gpu.address().orElseThrow())
                .containsExactly(address(1), address(2));
        assertThat(merged.warnings()).singleElement().asString().contains("NVML does not show 1 ");
    }

    @Test
    void aLinkToAGpuThatIsNotShownIsNoSwitch() {
        NvmlGpu.Remote remote = new NvmlGpu.Remote(Optional.of(address(2)), NvmlGpu.Kind.UNKNOWN);
        Topology merged = merge(List.of(gpu(0, 0, remote, 4), gpu(1, 1, remote, 4)));

        assertThat(merged.only(GpuSwitch.class)).isEmpty();
        assertThat(merged.gpus())
                .hasSize(2)
                .allSatisfy(gpu -> assertThat(merged.neighbours(gpu)).isEmpty());
    }

    @Test
    void aGpuThatIsNotInTheFilesIsAddedWithAWarning() {
        Topology merged =
                merge(List.of(gpu(0, 0, HIDDEN, 1), gpu(1, 1, HIDDEN, 1), gpu(2, 2, HIDDEN, 1), gpu(3, 9, HIDDEN, 1)));

        assertThat(merged.gpus()).hasSize(4);
        assertThat(merged.gpus().get(3).address()).contains(address(9));
        assertThat(merged.warnings()).singleElement().asString().contains("GPU3 at 0000:09:00.0");
    }

    @Test
    void chipLinksLeadToTheProcessor() {
        NvmlGpu grace = new NvmlGpu(0, address(0), "NVIDIA GB300", 103, "", List.of(), 5, 44712);
        Topology merged = merge(List.of(grace));

        assertThat(merged.links(merged.gpus().get(0), merged.numaNodes().get(0)))
                .containsExactly(new Link(LinkType.C2C, 5 * 44712 / 1000.0, 5));
    }

    private static Topology merge(List<NvmlGpu> shown) {
        Topology.Builder builder = Topology.builder("test");
        int host = builder.host("");
        builder.add(new NumaNode(host, 0, Processor.UNKNOWN));
        for (int i = 0; i < 3; i++) {
            builder.add(Gpu.builder(host, i, GpuVendor.NVIDIA)
                    .address(Optional.of(address(i)))
                    .numa(0)
                    .build());
        }
        return new NvmlMerge(builder.build(), shown).merge();
    }

    private static NvmlGpu gpu(int index, int bus, NvmlGpu.Remote remote, int links) {
        return new NvmlGpu(
                index,
                address(bus),
                "NVIDIA H200",
                90,
                "cluster/1",
                new ArrayList<>(Collections.nCopies(links, remote)),
                0,
                0);
    }

    private static NvmlGpu.Remote to(int bus) {
        return new NvmlGpu.Remote(Optional.of(address(bus)), NvmlGpu.Kind.GPU);
    }

    private static PciAddress address(int bus) {
        return new PciAddress(0, bus, 0, 0);
    }
}
