package org.ep4j.gpu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.ep4j.gpu.driver.NicMemory.Registrable;
import org.ep4j.spi.Check;
import org.ep4j.spi.ExposedMemory.Kind;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class RegistrableTest {
    private static final Optional<String> NONE = Optional.empty();
    private static final GpuDirect ALL = new GpuDirect(NONE, NONE, false);
    private static final EpConfig CONFIG = EpConfig.builder(Map.of(), Map.of()).build();

    /** A NIC that registers all. */
    private static Optional<String> any(Kind kind) {
        return Optional.empty();
    }

    @Test
    void dmaBufComesBeforePeerMemory() {
        Registrable both = Registrable.of(Optional.of(ALL), RegistrableTest::any);
        assertThat(both.kinds()).containsExactly(Kind.DMA_BUF, Kind.PEER_MEMORY);
        assertThat(both.reasons()).isEmpty();
        assertThat(both.check("C", CONFIG))
                .isEqualTo(Check.pass("C", "memory of the GPU can be registered as dma-buf"));
    }

    @Test
    void aDriverWithoutDmaBufLeavesPeerMemory() {
        Registrable one =
                Registrable.of(Optional.of(new GpuDirect(NONE, Optional.of("no file"), true)), RegistrableTest::any);
        assertThat(one.kinds()).containsExactly(Kind.PEER_MEMORY);
        assertThat(one.reasons()).containsExactly("dma-buf: no file");
    }

    @Test
    void refusalsOfTheNicAreReportedWithTheirReason() {
        Registrable none = Registrable.of(Optional.of(ALL), kind -> Optional.of("nic0 has no " + kind));
        assertThat(none.kinds()).isEmpty();
        assertThat(none.reasons())
                .containsExactly("dma-buf: nic0 has no dma-buf", "peer memory: nic0 has no peer memory");
        Check check = none.check("C", CONFIG);
        assertThat(check.status()).isEqualTo(Check.Status.WARN);
        assertThat(check.remedy()).isEqualTo("dma-buf: nic0 has no dma-buf; peer memory: nic0 has no peer memory");
    }

    @Test
    void aGpuThatAllowsNothingIsNotAskedFurther() {
        assertThat(Registrable.of(Optional.empty(), RegistrableTest::any)
                        .reasons()
                        .toString())
                .contains("this kind of GPU");
        Registrable refused =
                Registrable.of(Optional.of(new GpuDirect(Optional.of("no way"), NONE, false)), RegistrableTest::any);
        assertThat(refused.kinds()).isEmpty();
        assertThat(refused.reasons()).containsExactly("no way");
    }

    @Test
    void aRequestForHostMemoryIsNotWarned() {
        EpConfig host = CONFIG.toBuilder().set(EpKeys.GPU_WINDOW.name(), "host").build();
        assertThat(Registrable.of(Optional.empty(), RegistrableTest::any)
                        .check("C", host)
                        .status())
                .isEqualTo(Check.Status.PASS);
    }
}
