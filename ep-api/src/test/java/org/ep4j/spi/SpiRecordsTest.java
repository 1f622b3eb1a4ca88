package org.ep4j.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.plan.PathKind;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class SpiRecordsTest {
    @ParameterizedTest
    @CsvSource({"1,0,true", "1,1,true", "1,2,true", "1,3,false", "2,0,false", "0,1,false"})
    void aProviderRunsWithItsMajorVersionAndAnEqualOrNewerMinorOne(int major, int minor, boolean runs) {
        assertThat(new SpiVersion(1, 2).runs(new SpiVersion(major, minor))).isEqualTo(runs);
        assertThat(new SpiVersion(1, 2)).hasToString("1.2");
    }

    @Test
    void usableMeansThatNoCheckFailed() {
        ProbeReport fine = new ProbeReport(
                List.of(
                        Check.pass("EP-X-001", "all well"),
                        Check.warn("EP-X-002", "slow", "buy more"),
                        new Check("EP-X-003", Check.Status.NOT_RUN, "not looked at", "")),
                Map.of());
        assertThat(fine.usable()).isTrue();
        Check failed = Check.fail("EP-X-004", "no NIC", "plug one in");
        ProbeReport bad = new ProbeReport(List.of(Check.pass("EP-X-001", "all well"), failed), Map.of());
        assertThat(bad.usable()).isFalse();
        assertThat(bad.failures()).containsExactly(failed);
        assertThat(failed).hasToString("EP-X-004 FAIL: no NIC (plug one in)");
        assertThat(Check.pass("EP-X-001", "all well")).hasToString("EP-X-001 PASS: all well");
    }

    @Test
    void aReportHasACheckAndKeepsItsFactsInOrder() {
        assertThatThrownBy(() -> new ProbeReport(List.of(), Map.of())).isInstanceOf(IllegalArgumentException.class);
        Map<String, String> facts = new HashMap<>(Map.of("b", "2", "a", "1", "c", "3"));
        ProbeReport report = new ProbeReport(List.of(Check.pass("EP-X-001", "")), facts);
        facts.clear();
        assertThat(report.facts().keySet()).containsExactly("a", "b", "c");
        assertThatThrownBy(() -> report.facts().clear()).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void anOfferNeedsPositiveEstimates() {
        for (double[] bad : new double[][] {{0, 1}, {1, 0}, {-1, 1}, {1, -1}, {Double.NaN, 1}, {1, Double.NaN}}) {
            assertThatThrownBy(() -> new PathOffer(PathKind.MAPPED, bad[0], bad[1], List.of()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("positive estimates");
        }
    }

    @Test
    void aBufferIsSeenAsACapabilityOnlyIfItHasIt() {
        abstract class Plain implements SymmetricBuffer {
            @Override
            public void close() {
                // Nothing is held.
            }
        }
        SymmetricBuffer plain = new Plain() {
            @Override
            public org.ep4j.DeviceMemory local() {
                return new org.ep4j.DeviceMemory(0, 0, org.ep4j.Device.HOST);
            }
        };
        assertThat(plain.as(MappedPeers.class)).isEmpty();
        assertThat(plain.as(SymmetricBuffer.class)).containsSame(plain);
    }
}
