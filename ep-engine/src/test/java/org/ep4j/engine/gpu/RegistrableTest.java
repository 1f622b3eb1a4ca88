package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Optional;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Check;
import org.ep4j.spi.ExposedMemory.Kind;
import org.junit.jupiter.api.Test;

class RegistrableTest {
    private static final GpuDirect HOPPER = new GpuDirect(true, true, 100, 3);
    private static final EpConfig CONFIG = EpConfig.builder(Map.of(), Map.of()).build();

    /** A NIC that registers all. */
    private static Optional<String> any(Kind kind) {
        return Optional.empty();
    }

    @Test
    void dmaBufComesBeforePeerMemory() {
        Registrable both = Registrable.of(Optional.of(HOPPER), RegistrableTest::any);
        assertThat(both.kinds()).containsExactly(Kind.DMA_BUF, Kind.PEER_MEMORY);
        assertThat(both.reasons()).isEmpty();
        assertThat(both.check("C", CONFIG))
                .isEqualTo(Check.pass("C", "memory of the GPU can be registered as dma-buf"));
    }

    @Test
    void aDriverWithoutDmaBufLeavesPeerMemory() {
        Registrable one = Registrable.of(Optional.of(new GpuDirect(true, false, 0, 1)), RegistrableTest::any);
        assertThat(one.kinds()).containsExactly(Kind.PEER_MEMORY);
        assertThat(one.reasons())
                .singleElement()
                .asString()
                .contains("dma-buf: ", "DMA_BUF_SUPPORTED is 0", "open kernel modules", "5.12");
    }

    @Test
    void whatTheNicRefusesIsToldWithItsReason() {
        Registrable none = Registrable.of(Optional.of(HOPPER), kind -> Optional.of("nic0 has no " + kind));
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
        assertThat(Registrable.of(Optional.of(new GpuDirect(false, true, 100, 3)), RegistrableTest::any)
                        .reasons()
                        .toString())
                .contains("GPU_DIRECT_RDMA_SUPPORTED is 0");
        Registrable unordered = Registrable.of(Optional.of(new GpuDirect(true, true, 0, 2)), RegistrableTest::any);
        assertThat(unordered.kinds()).isEmpty();
        assertThat(unordered.reasons().toString())
                .contains("GPU_DIRECT_RDMA_WRITES_ORDERING is 0", "GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS is 2");
    }

    @Test
    void whoWantsMemoryOfTheHostIsNotWarned() {
        EpConfig host = CONFIG.toBuilder().set(EpKeys.WINDOW.name(), "host").build();
        assertThat(Registrable.of(Optional.empty(), RegistrableTest::any)
                        .check("C", host)
                        .status())
                .isEqualTo(Check.Status.PASS);
    }
}
