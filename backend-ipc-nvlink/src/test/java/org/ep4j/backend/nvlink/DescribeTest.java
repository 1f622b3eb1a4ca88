package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Reports and offers for machines that are known only by description. */
@Tag("verify")
final class DescribeTest {
    private static final EpConfig CONFIG = EpConfig.builder(Map.of(), Map.of()).build();

    private final IpcNvlinkProvider provider = new IpcNvlinkProvider();

    private static Locality locality(int gpu, LinkType link, PathType type) {
        return Locality.builder()
                .gpu(gpu)
                .vendor(GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .gpus(2)
                .peers(java.util.List.of(GpuPeer.of(1 - gpu, new Distance(type, 0, 0), link)))
                .build();
    }

    private RankProfile described(int rank, String host, Locality locality, String domain) {
        Device device = Device.cuda(rank);
        RankProfile bare = RankProfile.builder(rank, host, device)
                .pid(1)
                .locality(locality)
                .domain(domain)
                .build();
        ProbeReport report = provider.describe(bare, CONFIG);
        assertThat(report.usable()).isTrue();
        return bare.toBuilder()
                .backends(Map.of(provider.id(), BackendProfile.of(report)))
                .build();
    }

    @Test
    void describedGpusAreJoinedAsTheyAreDescribed() {
        assertThat(provider.offer(
                        described(0, "a", locality(0, LinkType.NVLINK, PathType.NVL), ""),
                        described(1, "a", locality(1, LinkType.NVLINK, PathType.NVL), "")))
                .matches(Offer::isPath);
        assertThat(provider.offer(
                        described(0, "a", locality(0, LinkType.PCI, PathType.PHB), ""),
                        described(1, "a", locality(1, LinkType.PCI, PathType.PHB), "")))
                .matches(answer -> !answer.isPath());
    }

    @Test
    void describedHostsAreJoinedByADomainAlone() {
        Locality locality = locality(0, LinkType.NVLINK, PathType.NVL);
        assertThat(provider.offer(described(0, "a", locality, ""), described(1, "b", locality, "")))
                .matches(answer -> !answer.isPath());
        assertThat(provider.offer(described(0, "a", locality, "d"), described(1, "b", locality, "d")))
                .matches(Offer::isPath);
    }

    @Test
    void otherDevicesAreNotServed() {
        ProbeReport report = provider.describe(
                RankProfile.builder(0, "a", Device.HOST).pid(1).build(), CONFIG);
        assertThat(report.usable()).isFalse();
        assertThat(report.failures().get(0).remedy()).contains("host-shm");
    }
}
