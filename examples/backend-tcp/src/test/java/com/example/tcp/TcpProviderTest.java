package com.example.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.spi.Check;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.tck.writes.TwoRanks;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Addresses that a probe accepts, and pairs of ranks that have a path. */
@Tag("verify")
final class TcpProviderTest {
    private final TcpProvider provider = new TcpProvider();

    private ProbeReport probe(String address) {
        return provider.probe(ProbeRequest.of(
                Device.HOST,
                TwoRanks.config(provider, Map.of(TcpProvider.ADDRESS.name(), address)),
                Duration.ofSeconds(20)));
    }

    private static RankProfile rank(int rank, String host, String loopback, String address) {
        return RankProfile.builder(rank, host, Device.HOST)
                .backends(Map.of(
                        TcpProvider.ID,
                        RankProfile.BackendProfile.of(Map.of("loopback", loopback), Map.of("address", address))))
                .build();
    }

    @Test
    void theDefaultAddressIsKnownAsLoopback() {
        ProbeReport report = probe(TcpProvider.ADDRESS.defaultText());
        assertThat(report.checks()).allMatch(check -> check.status() == Check.Status.PASS);
        assertThat(report.facts()).containsEntry("loopback", "true");
    }

    @ParameterizedTest
    @ValueSource(strings = {"192.0.2.1", "[::1"})
    void anAddressThatThisMachineDoesNotHaveFailsTheProbe(String address) {
        assertThat(probe(address).checks())
                .filteredOn(check -> check.status() == Check.Status.FAIL)
                .singleElement()
                .satisfies(check -> {
                    assertThat(check.code()).isEqualTo("TCP-002");
                    assertThat(check.detail()).contains(address);
                    assertThat(check.remedy()).contains(TcpProvider.ADDRESS.name());
                });
    }

    @Test
    void machinesThatCannotReachEachOtherHaveNoPath() {
        RankProfile near = rank(0, "a", "true", "127.0.0.1");
        RankProfile far = rank(1, "b", "false", "192.0.2.1");
        assertThat(provider.offer(near, rank(1, "a", "true", "127.0.0.1")).isPath())
                .isTrue();
        assertThat(provider.offer(far, rank(2, "c", "false", "192.0.2.2")).isPath())
                .isTrue();
        for (Offer none : new Offer[] {
            provider.offer(near, far),
            provider.offer(far, near),
            provider.offer(near, rank(1, "b", "true", "127.0.0.2")),
            provider.offer(far, rank(2, "c", "false", "192.0.2.1"))
        }) {
            assertThat(none.isPath()).isFalse();
            assertThat(none.remedy()).contains(TcpProvider.ADDRESS.name());
        }
    }
}
