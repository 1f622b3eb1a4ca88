package org.ep4j.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
import org.ep4j.config.EpKeys;
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
        DeviceMemory host = DeviceMemory.of(4096, 64, Device.HOST);
        DeviceMemory gpu = DeviceMemory.of(4096, 64, Device.cuda(0));
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
                .isNotEqualTo(ProbeRequest.of(Device.cuda(0), config, Duration.ofSeconds(20)))
                .hasToString("probe of host:0 within PT20S");
    }

    /** Returns an instance of an interface whose {@code size} is 3 and whose other methods return 2. */
    private static <T> T two(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> method.getName().equals("size") ? 3 : 2));
    }

    @Test
    void aBackendIsOpenedWithAProfileForEachRankOfThePlan() {
        RankProfile profile = RankProfile.builder(0, "h", Device.HOST).pid(1).build();
        assertThatThrownBy(() -> OpenContext.builder(
                                two(EpPlan.class), List.of(profile), two(Bootstrap.class), two(EpDevice.class))
                        .timeout(Duration.ofSeconds(20))
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a plan of 2 ranks needs as many profiles, got 1");
    }

    @Test
    void theNumberOfARankInThePlanFollowsFromItsPlaceAmongTheRanksOfTheBackend() {
        RankProfile profile = RankProfile.builder(0, "h", Device.HOST).build();
        OpenContext context = OpenContext.builder(
                        two(EpPlan.class), List.of(profile, profile), two(Bootstrap.class), two(EpDevice.class))
                .ranks(List.of(0, 3, 5))
                .build();
        assertThat(context.rank()).isEqualTo(5);
        assertThat(context.timeout()).isEqualTo(EpKeys.SETUP_TIMEOUT.get(context.config()));
    }

    @Test
    void aBootstrapConnectsExactlyTheRanksOfTheBackend() {
        RankProfile profile = RankProfile.builder(0, "h", Device.HOST).build();
        OpenContext.Builder allOfThePlan = OpenContext.builder(
                two(EpPlan.class), List.of(profile, profile), two(Bootstrap.class), two(EpDevice.class));
        assertThatThrownBy(allOfThePlan::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a backend of ranks [0, 1] needs a bootstrap of as many members, got 3");
    }

    @Test
    void anOfferOfAPathNeedsPositiveEstimates() {
        for (double[] bad : new double[][] {{0, 1}, {1, 0}, {-1, 1}, {1, -1}, {Double.NaN, 1}, {1, Double.NaN}}) {
            Offer.Builder path =
                    Offer.path(EpPath.Kind.MAPPED).gigabytesPerSecond(bad[0]).latencyMicros(bad[1]);
            assertThatThrownBy(path::build)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(
                            "positive estimates, got " + bad[0] + " GB/s, " + bad[1] + " us and 1 sharers");
        }
        Offer.Builder path = Offer.path(EpPath.Kind.MAPPED)
                .gigabytesPerSecond(1)
                .latencyMicros(1)
                .sharers(0);
        assertThatThrownBy(path::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("got 1.0 GB/s, 1.0 us and 0 sharers");
    }

    @Test
    void anOfferIsAPathOrAReason() {
        Offer path = Offer.path(EpPath.Kind.HOST_POSTED)
                .gigabytesPerSecond(40)
                .latencyMicros(3)
                .nics(List.of("mlx5_0:1"))
                .staged(true)
                .flow("64 writes")
                .sharers(4)
                .build();
        assertThat(path.isPath()).isTrue();
        assertThat(path.kind()).isEqualTo(EpPath.Kind.HOST_POSTED);
        assertThat(path.sharedGigabytesPerSecond()).isEqualTo(10);
        assertThat(path.reason() + path.remedy()).isEmpty();
        assertThat(path)
                .isEqualTo(path.toBuilder().build())
                .hasSameHashCodeAs(path.toBuilder().build())
                .isNotEqualTo(path.toBuilder().latencyMicros(4).build())
                .isNotEqualTo(path.toBuilder().nics(List.of()).build())
                .hasToString("HOST_POSTED, 40.0 GB/s, 3.0 us, nics [mlx5_0:1], staged through host memory, 64 writes,"
                        + " 4 pairs share it");
        Offer none = Offer.none("no link", "add one");
        assertThat(none.isPath()).isFalse();
        assertThat(none)
                .isEqualTo(Offer.none("no link", "add one"))
                .isNotEqualTo(Offer.none("no link", ""))
                .isNotEqualTo(path)
                .hasToString("no path: no link (add one)");
        List<ThrowingCallable> properties = List.of(
                none::kind,
                none::gigabytesPerSecond,
                none::latencyMicros,
                none::nics,
                none::staged,
                none::flow,
                none::sharers,
                none::sharedGigabytesPerSecond,
                none::toBuilder);
        assertThat(properties)
                .allSatisfy(property -> assertThatThrownBy(property)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("no link"));
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
                return DeviceMemory.of(0, 0, Device.HOST);
            }
        };
        assertThat(plain.as(MappedPeers.class)).isEmpty();
        assertThat(plain.as(SymmetricBuffer.class)).containsSame(plain);
    }
}
