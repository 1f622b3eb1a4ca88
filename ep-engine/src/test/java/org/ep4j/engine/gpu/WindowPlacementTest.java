package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.gpu.cuda.CudaDevice;
import org.ep4j.gpu.cuda.DriverCalls;
import org.ep4j.gpu.cuda.EmulatedCuda;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.gpu.hip.EmulatedHip;
import org.ep4j.gpu.hip.HipDevice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.ExposedMemory.Kind;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The emulated GPUs differ in what they allow NICs: 0 all, 1 with a flush, 2 nothing for want of one, 3 nothing, 4 no dma-buf. */
@Tag("verify")
class WindowPlacementTest {
    private static final WindowLayout LAYOUT = WindowLayout.of(
            EpShape.builder(64, 8, 2).maxTokens(3).maxLowLatencyTokens(2).build(), 2, 1, false);

    private final List<Kind> tried = new ArrayList<>();

    /** A backend that registers memory of the host alone. */
    private static class Plain implements EpBackend, RegistersMemory {
        @Override
        public String id() {
            return "plain";
        }

        @Override
        public SymmetricBuffer register(String name, ExposedMemory memory, Duration timeout) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Optional<String> refusal(Kind kind) {
            return kind == Kind.HOST ? Optional.empty() : Optional.of("plain registers only memory of the host");
        }

        @Override
        public void tryRegister(ExposedMemory memory) {
            throw new AssertionError("tried " + memory.kind());
        }

        @Override
        public void close() {}
    }

    /** Says that it registers some kinds, and then does those of them that are not in the second list. */
    private class Direct extends Plain {
        private final List<Kind> kinds;
        private final List<Kind> broken;

        Direct(List<Kind> kinds, List<Kind> broken) {
            this.kinds = kinds;
            this.broken = broken;
        }

        @Override
        public Optional<String> refusal(Kind kind) {
            return kinds.contains(kind) ? Optional.empty() : Optional.of("nic0 knows no " + kind);
        }

        @Override
        public void tryRegister(ExposedMemory memory) {
            tried.add(memory.kind());
            assertThat(memory.memory().byteSize()).isEqualTo(LAYOUT.bytes());
            if (broken.contains(memory.kind())) {
                throw new EpException("reg of " + memory.kind() + " failed: error 22");
            }
        }
    }

    private EpBackend any() {
        return new Direct(List.of(Kind.DMA_BUF, Kind.PEER_MEMORY), List.of());
    }

    private static GroupPlan plan(Device device, PathType distance) {
        NicReach nic = NicReach.builder("mlx5_0", NicFamily.MLX5, new Distance(distance, 50, 1))
                .card("card")
                .build();
        Locality locality = Locality.builder()
                .gpu(0)
                .vendor(GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .gpus(1)
                .nics(List.of(nic))
                .build();
        List<RankProfile> profiles = new ArrayList<>();
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < 2; from++) {
            profiles.add(RankProfile.builder(from, "host-" + from, device)
                    .hostName("host")
                    .pid(1)
                    .locality(locality)
                    .build());
            for (int to = 0; to < 2; to++) {
                EpPath.Kind kind = from == to ? EpPath.Kind.LOCAL : EpPath.Kind.HOST_POSTED;
                paths.add(EpPath.builder(from, to, "posts", kind)
                        .nics(List.of("mlx5_0:1"))
                        .gigabytesPerSecond(1)
                        .latencyMicros(1)
                        .build());
            }
        }
        return GroupPlan.of(profiles, paths);
    }

    private static GpuWindow place(EngineGpu device, String wanted, PathType distance, EpBackend... backends) {
        return placement(device, wanted, distance, backends).place(LAYOUT);
    }

    private static WindowPlacement placement(
            EngineGpu device, String wanted, PathType distance, EpBackend... backends) {
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .set(EpKeys.GPU_WINDOW.name(), wanted)
                .build();
        return new WindowPlacement(device, plan(device.id(), distance), 0, List.of(backends), config);
    }

    private void assertKind(int gpu, String wanted, Kind expected, EpBackend... backends) {
        try (CudaDevice device = EmulatedCuda.open(gpu);
                GpuWindow window = place(device, wanted, PathType.PIX, backends)) {
            assertThat(window.exposed().kind()).isEqualTo(expected);
            assertThat(window.exposed().memory().device()).isEqualTo(expected == Kind.HOST ? Device.HOST : device.id());
            assertThat(window.words().orElseThrow().memory().size()).isEqualTo(LAYOUT.counterBytes());
        }
    }

    @Test
    void dmaBufIsPreferredThenPeerMemoryThenHostMemory() {
        assertKind(0, "auto", Kind.DMA_BUF, any());
        assertKind(4, "auto", Kind.PEER_MEMORY, any());
        assertKind(0, "auto", Kind.PEER_MEMORY, new Direct(List.of(Kind.PEER_MEMORY), List.of()));
        assertKind(0, "auto", Kind.HOST, new Direct(List.of(), List.of()));
        assertKind(0, "auto", Kind.HOST, new Plain());
        assertKind(3, "auto", Kind.HOST, any());
        assertKind(2, "auto", Kind.HOST, any());
        assertKind(0, "host", Kind.HOST, any());
    }

    @Test
    void doubtfulMemoryIsUsedOnlyOnRequest() {
        EmulatedHip.require();
        try (HipDevice device = EmulatedHip.open(0);
                GpuWindow unasked = place(device, "auto", PathType.PIX, any());
                GpuWindow asked = place(device, "device", PathType.PIX, any())) {
            assertThat(unasked.exposed().kind()).isEqualTo(Kind.HOST);
            assertThat(asked.exposed().kind()).isEqualTo(Kind.DMA_BUF);
        }
    }

    @Test
    void aFailedRegistrationFallsBackToTheNextKind() {
        List<Kind> both = List.of(Kind.DMA_BUF, Kind.PEER_MEMORY);
        assertKind(0, "auto", Kind.PEER_MEMORY, any(), new Direct(both, List.of(Kind.DMA_BUF)));
        assertThat(tried).containsExactly(Kind.DMA_BUF, Kind.DMA_BUF, Kind.PEER_MEMORY, Kind.PEER_MEMORY);
        assertKind(0, "auto", Kind.HOST, new Direct(both, both));
    }

    @Test
    void aBrokenGpuDoesNotFallBackToHostMemory() {
        EpException broken = new EpException("an illegal address", EpException.Recourse.RESTART_PROCESS);
        Direct backend = new Direct(List.of(Kind.DMA_BUF, Kind.PEER_MEMORY), List.of()) {
            @Override
            public void tryRegister(ExposedMemory memory) {
                throw broken;
            }
        };
        try (CudaDevice device = EmulatedCuda.open(0)) {
            assertThatThrownBy(() -> place(device, "auto", PathType.PIX, backend))
                    .isSameAs(broken);
        }
    }

    @Test
    void allBackendsMustRegisterIt() {
        assertKind(0, "auto", Kind.HOST, any(), new Plain());
        assertThat(tried).isEmpty();
    }

    @Test
    void aWindowThatMustBeOnTheGpuFailsWithTheReason() {
        List<Kind> both = List.of(Kind.DMA_BUF, Kind.PEER_MEMORY);
        try (CudaDevice device = EmulatedCuda.open(0)) {
            assertThatThrownBy(() -> place(device, "device", PathType.PIX, new Direct(both, both)))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("ep.gpu.window=device")
                    .hasMessageContaining("dma-buf: reg of dma-buf failed: error 22")
                    .hasMessageContaining("peer memory: reg of peer memory failed: error 22");
            assertThatThrownBy(() -> place(device, "device", PathType.PIX, new Plain()))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("plain registers only memory of the host");
        }
        assertKind(0, "device", Kind.DMA_BUF, any());
    }

    @Test
    void aFarNicIsUsedOnlyOnRequest() {
        try (CudaDevice device = EmulatedCuda.open(0);
                GpuWindow far = place(device, "auto", PathType.SYS, any());
                GpuWindow wanted = place(device, "device", PathType.SYS, any())) {
            assertThat(far.exposed().kind()).isEqualTo(Kind.HOST);
            assertThat(wanted.exposed().kind()).isEqualTo(Kind.DMA_BUF);
        }
    }

    @Test
    void writesAreFlushedWhereTheGpuAsksForIt() {
        try (CudaDevice ordered = EmulatedCuda.open(0);
                CudaDevice flushed = EmulatedCuda.open(1);
                GpuWindow plain = place(ordered, "auto", PathType.PIX, any());
                GpuWindow behind = place(flushed, "auto", PathType.PIX, any());
                GpuWindow host = place(flushed, "host", PathType.PIX, any())) {
            assertThat(DriverCalls.during(plain.flush())).isEmpty();
            assertThat(DriverCalls.during(host.flush())).isEmpty();
            assertThat(DriverCalls.during(behind.flush())).contains("cuFlushGPUDirectRDMAWrites");
        }
    }

    /** On GPU 1, which needs a flush. */
    @Test
    void aWindowOfABackendIsRegisteredWhereItLies() {
        try (CudaDevice device = EmulatedCuda.open(1);
                DeviceAllocation memory =
                        device.allocateShared((LAYOUT.bytes() / NicMemory.GRANULE + 1) * NicMemory.GRANULE)) {
            DeviceMemory part = memory.memory().slice(0, LAYOUT.bytes());
            GpuWindow bare = new GpuWindow(
                    LAYOUT,
                    ExposedMemory.of(part),
                    part.address(),
                    Optional.empty(),
                    Optional.empty(),
                    () -> {},
                    () -> {});
            assertThat(placement(device, "auto", PathType.SYS).share(bare, "posting"))
                    .isSameAs(bare);
            try (GpuWindow shared =
                    placement(device, "auto", PathType.SYS, any()).share(bare, "posting")) {
                assertThat(shared.exposed().memory()).isEqualTo(part);
                assertThat(shared.exposed().kind()).isEqualTo(Kind.DMA_BUF);
                assertThat(shared.words()).isPresent();
                assertThat(DriverCalls.during(shared.flush())).contains("cuFlushGPUDirectRDMAWrites");
            }
            for (String wanted : List.of("auto", "host")) {
                assertThatThrownBy(() -> placement(device, wanted, PathType.PIX, new Plain())
                                .share(bare, "posting"))
                        .isInstanceOf(EpUnavailableException.class)
                        .hasMessageContainingAll(
                                "host threads post from",
                                "over posts",
                                "that posting allocated",
                                wanted.equals("host") ? "ep.gpu.window is host" : "plain registers only",
                                "ep.backend.exclude");
            }
        }
    }

    @Test
    void allMemoryIsFreed() {
        List<Kind> both = List.of(Kind.DMA_BUF, Kind.PEER_MEMORY);
        try (CudaDevice device = EmulatedCuda.open(0)) {
            assertThat(DriverCalls.during(
                            () -> place(device, "auto", PathType.PIX, any()).close()))
                    .contains("cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost");
            assertThat(DriverCalls.during(() -> place(device, "auto", PathType.PIX, new Direct(both, both))
                            .close()))
                    .contains("cuMemFree_v2")
                    .filteredOn(call -> call.startsWith("cuMemHostAlloc"))
                    .hasSize(2);
        }
    }
}
