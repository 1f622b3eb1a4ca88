package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Reports and offers for machines that are known only by description. */
@Tag("verify")
final class DescribeTest {
    private static final EpConfig CONFIG = EpConfig.builder(Map.of(), Map.of()).build();

    private final HostShmProvider provider = new HostShmProvider();

    private RankProfile described(int rank, String host, String device) {
        RankProfile bare =
                RankProfile.builder(rank, host, Device.parse(device)).pid(1).build();
        ProbeReport report = provider.describe(bare, CONFIG);
        assertThat(report.usable()).isTrue();
        return bare.toBuilder()
                .backends(Map.of(provider.id(), BackendProfile.of(report)))
                .build();
    }

    private Offer offer(String host, String device, String otherHost, String otherDevice) {
        return provider.offer(described(0, host, device), described(1, otherHost, otherDevice));
    }

    @Test
    void ranksOfOneDescribedHostShareMemory() {
        assertThat(offer("a", "host:0", "a", "host:0"))
                .matches(Offer::isPath)
                .satisfies(path -> assertThat(path.staged()).isFalse());
    }

    @Test
    void ranksOfTwoDescribedHostsDoNot() {
        assertThat(offer("a", "host:0", "b", "host:0")).matches(answer -> !answer.isPath());
    }

    @Test
    void gpusAreRefusedAsAProbeRefusesThem() {
        Device gpu = Device.parse("cuda:0");
        ProbeReport described =
                provider.describe(RankProfile.builder(0, "a", gpu).pid(1).build(), CONFIG);
        ProbeReport probed = provider.probe(ProbeRequest.of(gpu, CONFIG, Duration.ofSeconds(20)));
        assertThat(described.failures()).isNotEmpty().isEqualTo(probed.failures());
    }
}
