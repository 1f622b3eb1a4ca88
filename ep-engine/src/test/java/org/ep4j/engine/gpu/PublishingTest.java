package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpUnavailableException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.MappedBackend;
import org.ep4j.engine.cuda.EmulatedCuda;
import org.ep4j.engine.hip.EmulatedHip;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.PathOffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class PublishingTest {
    private static final EpConfig RELAXED = EpConfig.builder(Map.of(), Map.of())
            .set("ep.gpu.publish", "relaxed")
            .build();

    private static EpBackend mapped(GpuDevice device, Optional<String> detour) {
        RankProfile rank = new RankProfile(0, "h", "h", 1, device.id(), Map.of(), Map.of());
        PairPath path =
                new PairPath(0, 0, "local", new PathOffer(PathKind.LOCAL, 1, 1, List.of()), List.of(), List.of(), 1);
        EpPlan plan = EpPlan.of(List.of(rank), List.of(path));
        Bootstrap bootstrap = Bootstraps.inProcess(1).get(0);
        OpenContext context = new OpenContext(plan, 0, List.of(0), bootstrap, device, RELAXED, Duration.ofSeconds(10));
        return new MappedBackend(context, new Collective("mapped", context), "here", detour, (ranks, name) -> {
            throw new IllegalStateException("nothing is allocated");
        });
    }

    @Test
    void uncachedMemoryOverXgmiAllowsThem() {
        try (GpuDevice device = EmulatedHip.open(0)) {
            List<EpBackend> backends = List.of(mapped(device, Optional.empty()));
            assertThatCode(() -> Publishing.check(device, backends, RELAXED)).doesNotThrowAnyException();
        }
    }

    @Test
    void cachedMemoryAndPcieRefuseThem() {
        try (GpuDevice device = EmulatedHip.open(0)) {
            assertThatThrownBy(() -> Publishing.check(device, List.of(), RELAXED))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("ep.gpu.publish=relaxed")
                    .hasMessageContaining("hip:0: its symmetric memory is cached")
                    .hasMessageContaining("leave ep.gpu.publish at release");
            List<EpBackend> overPci = List.of(mapped(device, Optional.of("rank 1 is reached over PCIe")));
            assertThatThrownBy(() -> Publishing.check(device, overPci, RELAXED))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("rank 1 is reached over PCIe");
            assertThatCode(() -> Publishing.check(
                            device,
                            List.of(),
                            EpConfig.builder(Map.of(), Map.of()).build()))
                    .doesNotThrowAnyException();
        }
    }

    @Test
    void gpusWhoseReleaseWritesNothingBackRefuseThem() {
        try (GpuDevice device = EmulatedCuda.open(0)) {
            List<EpBackend> backends = List.of(mapped(device, Optional.empty()));
            assertThatThrownBy(() -> Publishing.check(device, backends, RELAXED))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("cuda:0 writes back no cache");
            assertThatThrownBy(() -> device.loadRelaxed("kernels", "")).isInstanceOf(EpUnavailableException.class);
        }
    }
}
