package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.PathOffer;
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

/** What the backend says of machines that it does not see. */
@Tag("verify")
final class DescribeTest {
    private static final EpConfig CONFIG = EpConfig.builder(Map.of(), Map.of()).build();

    private final IpcNvlinkProvider provider = new IpcNvlinkProvider();

    private static Locality locality(int gpu, LinkType link, PathType type) {
        return new Locality(
                gpu,
                GpuVendor.NVIDIA,
                "sm_90",
                0,
                2,
                java.util.List.of(new GpuPeer(1 - gpu, new Distance(type, 0, 0), link)),
                java.util.List.of());
    }

    private RankProfile described(int rank, String host, Locality locality, String domain) {
        Device device = new Device("cuda", rank);
        RankProfile bare = new RankProfile(rank, host, host, 1, device, locality, domain, Map.of(), Map.of());
        ProbeReport report = provider.describe(bare, CONFIG);
        assertThat(report.usable()).isTrue();
        return bare.withBackends(Map.of(provider.id(), BackendProfile.of(report)));
    }

    @Test
    void describedGpusAreJoinedAsTheyAreDescribed() {
        assertThat(provider.offer(
                        described(0, "a", locality(0, LinkType.NVLINK, PathType.NVL), ""),
                        described(1, "a", locality(1, LinkType.NVLINK, PathType.NVL), "")))
                .isInstanceOf(PathOffer.class);
        assertThat(provider.offer(
                        described(0, "a", locality(0, LinkType.PCI, PathType.PHB), ""),
                        described(1, "a", locality(1, LinkType.PCI, PathType.PHB), "")))
                .isInstanceOf(NoPath.class);
    }

    @Test
    void describedHostsAreJoinedByADomainAlone() {
        Locality locality = locality(0, LinkType.NVLINK, PathType.NVL);
        assertThat(provider.offer(described(0, "a", locality, ""), described(1, "b", locality, "")))
                .isInstanceOf(NoPath.class);
        assertThat(provider.offer(described(0, "a", locality, "d"), described(1, "b", locality, "d")))
                .isInstanceOf(PathOffer.class);
    }

    @Test
    void otherDevicesAreNotServed() {
        ProbeReport report =
                provider.describe(new RankProfile(0, "a", "a", 1, Device.HOST, Map.of(), Map.of()), CONFIG);
        assertThat(report.usable()).isFalse();
        assertThat(report.failures().get(0).remedy()).contains("host-shm");
    }
}
