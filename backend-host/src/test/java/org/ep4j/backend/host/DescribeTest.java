package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.RankProfile.BackendProfile;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.topology.Locality;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the backend says of machines that it does not see. */
@Tag("verify")
final class DescribeTest {
    private final HostShmProvider provider = new HostShmProvider();

    private RankProfile described(int rank, String host, String device) {
        Device parsed = Device.parse(device);
        ProbeReport report = provider.describe(new DescribeRequest(parsed, Locality.UNKNOWN, host));
        assertThat(report.usable()).isTrue();
        return new RankProfile(
                rank,
                host,
                host,
                1,
                parsed,
                Map.of(provider.id(), new BackendProfile(true, "", report.facts(), report.identity())),
                Map.of());
    }

    private Offer offer(String host, String device, String otherHost, String otherDevice) {
        return provider.offer(described(0, host, device), described(1, otherHost, otherDevice));
    }

    @Test
    void ranksOfOneDescribedHostShareMemory() {
        assertThat(offer("a", "host:0", "a", "host:0"))
                .isInstanceOfSatisfying(
                        PathOffer.class, path -> assertThat(path.staged()).isFalse());
    }

    @Test
    void ranksOfTwoDescribedHostsDoNot() {
        assertThat(offer("a", "host:0", "b", "host:0")).isInstanceOf(NoPath.class);
    }

    @Test
    void gpusAreRefusedAsAProbeRefusesThem() {
        Device gpu = Device.parse("cuda:0");
        ProbeReport described = provider.describe(new DescribeRequest(gpu, Locality.UNKNOWN, "a"));
        ProbeReport probed = provider.probe(
                new ProbeRequest(gpu, EpConfig.builder(Map.of(), Map.of()).build(), Duration.ofSeconds(20)));
        assertThat(described.failures()).isNotEmpty().isEqualTo(probed.failures());
    }
}
