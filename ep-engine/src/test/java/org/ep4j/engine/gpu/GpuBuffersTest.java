package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.cuda.EmulatedCuda;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.hip.EmulatedHip;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.Collective;
import org.ep4j.transport.MappedBackend;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class GpuBuffersTest {
    private static final EpConfig RELAXED = EpConfig.builder(Map.of(), Map.of())
            .set("ep.gpu.publish", "relaxed")
            .build();

    private static EpBackend mapped(EngineGpu device, Optional<String> detour) {
        RankProfile rank = RankProfile.builder(0, "h", device.id()).pid(1).build();
        EpPath path = EpPath.builder(0, 0, "local", EpPath.Kind.LOCAL).build();
        GroupPlan plan = GroupPlan.of(List.of(rank), List.of(path));
        Bootstrap bootstrap = Bootstrap.inProcess(1).get(0);
        OpenContext context = OpenContext.builder(plan, plan.profiles(), bootstrap, device)
                .config(RELAXED)
                .timeout(Duration.ofSeconds(10))
                .build();
        return new MappedBackend(context, new Collective("mapped", context), "here", detour, (ranks, name) -> {
            throw new IllegalStateException("nothing is allocated");
        });
    }

    @Test
    void uncachedMemoryOverXgmiAllowsThem() {
        try (EngineGpu device = EmulatedHip.open(0)) {
            List<EpBackend> backends = List.of(mapped(device, Optional.empty()));
            assertThatCode(() -> GpuBuffers.checkPublishing(device, backends, RELAXED))
                    .doesNotThrowAnyException();
        }
    }

    @Test
    void cachedMemoryAndPcieRefuseThem() {
        try (EngineGpu device = EmulatedHip.open(0)) {
            assertThatThrownBy(() -> GpuBuffers.checkPublishing(device, List.of(), RELAXED))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("ep.gpu.publish=relaxed")
                    .hasMessageContaining("hip:0: its symmetric memory is cached")
                    .hasMessageContaining("leave ep.gpu.publish at release");
            List<EpBackend> overPci = List.of(mapped(device, Optional.of("rank 1 is reached over PCIe")));
            assertThatThrownBy(() -> GpuBuffers.checkPublishing(device, overPci, RELAXED))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining(
                            "rank 1 is reached over PCIe, where an acknowledged write may not have arrived")
                    .hasMessageContaining("(backend mapped)");
            assertThatCode(() -> GpuBuffers.checkPublishing(
                            device,
                            List.of(),
                            EpConfig.builder(Map.of(), Map.of()).build()))
                    .doesNotThrowAnyException();
        }
    }

    /** One that only kernels post through maps nothing. */
    @Test
    void memoryOfABackendWithoutThatPropertyRefusesThem() {
        try (EngineGpu device = EmulatedHip.open(0)) {
            for (Purpose purpose : Purpose.values()) {
                assertThatThrownBy(() -> GpuBuffers.checkPublishing(device, List.of(new Silent(purpose)), RELAXED))
                        .isInstanceOf(EpUnavailableException.class)
                        .hasMessageContaining(
                                purpose == Purpose.MAPPED
                                        ? "symmetric memory that the backend maps may be cached (backend silent)"
                                        : "no backend maps it");
            }
        }
    }

    /** A backend that allocates memory for one purpose. */
    private record Silent(Purpose purpose) implements EpBackend, AllocatesMemory {
        @Override
        public String id() {
            return "silent";
        }

        @Override
        public Set<Purpose> purposes() {
            return Set.of(purpose);
        }

        @Override
        public SymmetricBuffer allocate(String name, long bytes, Purpose wanted, Duration timeout) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {}
    }

    @Test
    void gpusWhoseReleaseWritesNothingBackRefuseThem() {
        try (EngineGpu device = EmulatedCuda.open(0)) {
            List<EpBackend> backends = List.of(mapped(device, Optional.empty()));
            assertThatThrownBy(() -> GpuBuffers.checkPublishing(device, backends, RELAXED))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("cuda:0 writes back no cache");
            assertThatThrownBy(() -> device.loadRelaxed("kernels", "")).isInstanceOf(EpUnavailableException.class);
        }
    }
}
