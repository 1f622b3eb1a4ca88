package org.ep4j.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
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
        ProbeReport fine = ProbeReport.builder()
                .check(Check.pass("EP-X-001", "all well"))
                .check(Check.warn("EP-X-002", "slow", "buy more"))
                .check(Check.notRun("EP-X-003", "not examined"))
                .build();
        assertThat(fine.usable()).isTrue();
        Check failed = Check.fail("EP-X-004", "no NIC", "plug one in");
        ProbeReport bad = ProbeReport.builder()
                .check(Check.pass("EP-X-001", "all well"))
                .check(failed)
                .build();
        assertThat(bad.usable()).isFalse();
        assertThat(bad.failures()).containsExactly(failed);
        assertThat(bad.notApplicable()).isEmpty();
        Check absent = Check.notApplicable("EP-X-005", "no GPU", "use the host");
        ProbeReport other = ProbeReport.builder().check(absent).build();
        assertThat(other.usable()).isFalse();
        assertThat(other.notApplicable()).contains(absent);
    }

    @Test
    void checksAreEqualByWhatTheySay() {
        Check failed = Check.fail("EP-X-004", "no NIC", "plug one in");
        assertThat(failed)
                .isEqualTo(Check.fail("EP-X-004", "no NIC", "plug one in"))
                .hasSameHashCodeAs(Check.fail("EP-X-004", "no NIC", "plug one in"))
                .isNotEqualTo(Check.warn("EP-X-004", "no NIC", "plug one in"));
        assertThat(Check.notRun("EP-X-003", "not examined", "run it as root"))
                .hasToString("EP-X-003 NOT_RUN: not examined (run it as root)");
        assertThat(Check.notApplicable("EP-X-005", "no GPU", "")).hasToString("EP-X-005 NOT_APPLICABLE: no GPU");
        assertThat(failed).hasToString("EP-X-004 FAIL: no NIC (plug one in)");
        assertThat(Check.pass("EP-X-001", "all well")).hasToString("EP-X-001 PASS: all well");
    }

    @Test
    void aReportHasACheckAndKeepsItsFactsInOrder() {
        ProbeReport.Builder builder = ProbeReport.builder();
        assertThatThrownBy(builder::build).isInstanceOf(IllegalArgumentException.class);
        builder.check(Check.pass("EP-X-001", ""))
                .fact("b", "2")
                .fact("a", "0")
                .fact("c", "3")
                .fact("a", "1")
                .identity("z", "1")
                .identity("y", "2");
        ProbeReport report = builder.build();
        builder.check(Check.pass("EP-X-002", "")).fact("d", "4").identity("x", "3");
        assertThat(report.checks()).extracting(Check::code).containsExactly("EP-X-001");
        assertThat(report.facts()).containsExactly(Map.entry("a", "1"), Map.entry("b", "2"), Map.entry("c", "3"));
        assertThat(report.identity().keySet()).containsExactly("y", "z");
        assertThatThrownBy(() -> report.facts().clear()).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> report.identity().clear()).isInstanceOf(UnsupportedOperationException.class);
        assertThat(report).isNotEqualTo(builder.build());
    }

    @Test
    void exposedMemoryIsRegisteredByItsAddressOrAsADmaBuf() {
        DeviceMemory host = new DeviceMemory(4096, 64, Device.HOST);
        DeviceMemory gpu = new DeviceMemory(4096, 64, new Device("cuda", 0));
        assertThat(ExposedMemory.of(host).kind()).isEqualTo(ExposedMemory.Kind.HOST);
        assertThat(ExposedMemory.of(gpu).kind()).isEqualTo(ExposedMemory.Kind.PEER_MEMORY);
        ExposedMemory file = ExposedMemory.of(gpu, new ExposedMemory.DmaBuf(7, 512));
        assertThat(file.kind()).isEqualTo(ExposedMemory.Kind.DMA_BUF);
        assertThat(file.dmaBuf()).contains(new ExposedMemory.DmaBuf(7, 512));
        assertThat(file)
                .isEqualTo(ExposedMemory.of(gpu, new ExposedMemory.DmaBuf(7, 512)))
                .isNotEqualTo(ExposedMemory.of(gpu));
    }

    @Test
    void codeOfADeviceKeepsItsPartsInOrder() {
        DeviceCode.Builder builder = DeviceCode.builder("lib 1.2", "void f();")
                .header("f.h", "int g();")
                .option("-Ib")
                .option("-Ia")
                .library(Path.of("libf.a"));
        DeviceCode code = builder.build();
        builder.option("-Ic");
        assertThat(code.version()).isEqualTo("lib 1.2");
        assertThat(code.source()).isEqualTo("void f();");
        assertThat(code.headers()).containsExactly(Map.entry("f.h", "int g();"));
        assertThat(code.options()).containsExactly("-Ib", "-Ia");
        assertThat(code.libraries()).containsExactly(Path.of("libf.a"));
    }

    @Test
    void codeOfADeviceIsEqualByAllItsPartsAndDescribesItselfBriefly() {
        DeviceCode.Builder builder = DeviceCode.builder("lib 1.2", "void f();");
        DeviceCode plain = builder.build();
        assertThat(plain)
                .isEqualTo(DeviceCode.builder("lib 1.2", "void f();").build())
                .hasSameHashCodeAs(DeviceCode.builder("lib 1.2", "void f();").build())
                .isNotEqualTo(DeviceCode.builder("lib 1.3", "void f();").build())
                .isNotEqualTo(DeviceCode.builder("lib 1.2", "void g();").build())
                .isNotEqualTo(builder.header("f.h", "int g();").build());
        DeviceCode headed = builder.build();
        DeviceCode optional = builder.option("-Ia").build();
        assertThat(optional).isNotEqualTo(headed);
        assertThat(builder.library(Path.of("libf.a")).build())
                .isNotEqualTo(optional)
                .hasToString("device code lib 1.2: source of 9 characters, 1 headers, 1 options, 1 libraries");
    }

    @Test
    void aProbeRequestIsEqualByItsPartsAndDescribesItself() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        ProbeRequest request = ProbeRequest.of(Device.HOST, config, Duration.ofSeconds(20));
        assertThat(request)
                .isEqualTo(ProbeRequest.of(Device.HOST, config, Duration.ofSeconds(20)))
                .hasSameHashCodeAs(ProbeRequest.of(Device.HOST, config, Duration.ofSeconds(20)))
                .isNotEqualTo(ProbeRequest.of(Device.HOST, config, Duration.ofSeconds(21)))
                .isNotEqualTo(ProbeRequest.of(new Device("cuda", 0), config, Duration.ofSeconds(20)))
                .hasToString("probe of host:0 within PT20S");
    }

    /** A stub whose methods all return 2. */
    private static <T> T two(Class<T> type) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (stub, method, arguments) -> 2));
    }

    @Test
    void aBackendIsOpenedWithAProfileForEachRankOfThePlan() {
        RankProfile profile = new RankProfile(0, "h", "h", 1, Device.HOST, Map.of(), Map.of());
        assertThatThrownBy(() -> new OpenContext(
                        two(EpPlan.class),
                        List.of(profile),
                        0,
                        List.of(0, 1),
                        two(Bootstrap.class),
                        two(EpDevice.class),
                        EpConfig.builder(Map.of(), Map.of()).build(),
                        Duration.ofSeconds(20)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a plan of 2 ranks needs as many profiles, got 1");
    }

    @Test
    void anOfferNeedsPositiveEstimates() {
        for (double[] bad : new double[][] {{0, 1}, {1, 0}, {-1, 1}, {1, -1}, {Double.NaN, 1}, {1, Double.NaN}}) {
            assertThatThrownBy(() -> new PathOffer(EpPath.Kind.MAPPED, bad[0], bad[1], List.of()))
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
            public DeviceMemory local() {
                return new DeviceMemory(0, 0, Device.HOST);
            }
        };
        assertThat(plain.as(MappedPeers.class)).isEmpty();
        assertThat(plain.as(SymmetricBuffer.class)).containsSame(plain);
    }
}
