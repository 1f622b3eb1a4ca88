package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Arenas of emulated GPUs: what they wait for, and when they may be closed. */
@Tag("verify")
final class GpuArenaTest {
    private static final String SOURCE = """
            struct Op { u64* gate; };
            EP_KERNEL(wait_for_gate, 32) { while (load_acquire(op.gate) == 0) pause(); }
            """;

    @BeforeEach
    void emulator() {
        EmulatedGpu.require();
    }

    /** A kernel may wait for what the thread that allocates does next. */
    @Test
    void anArenaIsFilledAndClosedWhileAKernelRuns() {
        try (EngineGpu gpu = EmulatedGpu.open(0);
                GpuStream stream = gpu.createStream();
                GpuKernels kernels = gpu.compile("gate.cu", SOURCE);
                PinnedMemory gate = gpu.allocatePinned(8)) {
            TensorArena arena = gpu.arena();
            arena.memory(1 << 20);
            kernels.kernel("wait_for_gate", 32, 0).launch(stream, 1, gate.deviceAddress());
            EpEvent end = gpu.record(stream.handle());
            assertThat(gpu.longs(arena.int64(new long[] {3, -4}, 2))).containsExactly(3, -4);
            arena.close();
            assertThat(end.isDone()).isFalse();
            gate.memory().putLongRelease(0, 1);
            end.await(Guard.minute());
        }
    }

    @Test
    void anArenaMayBeClosedAfterItsDevice() {
        EngineGpu gpu = EmulatedGpu.open(0);
        TensorArena arena = gpu.arena();
        Tensor tensor = arena.int32(new int[] {1, 2}, 2);
        arena.memory(64);
        gpu.close();
        arena.close();
        assertThatThrownBy(() -> arena.memory(1)).isInstanceOf(EpStateException.class);
        try (EngineGpu again = EmulatedGpu.open(0)) {
            assertThatThrownBy(() -> again.ints(tensor))
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("the range is in memory that is closed");
        }
    }

    @Test
    void elementsOnAnotherDeviceAreRefused() {
        try (EngineGpu gpu = EmulatedGpu.open(0);
                EngineGpu other = EmulatedGpu.open(1);
                TensorArena arena = other.arena()) {
            Tensor floats = arena.fp32(new float[] {1, 2}, 2);
            Tensor ints = arena.int32(new int[] {1, 2}, 2);
            Tensor longs = arena.int64(new long[] {1, 2}, 2);
            for (ThrowingCallable read :
                    new ThrowingCallable[] {() -> gpu.floats(floats), () -> gpu.ints(ints), () -> gpu.longs(longs)}) {
                assertThatThrownBy(read)
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining("on " + other.id());
            }
            assertThat(other.floats(floats)).containsExactly(1, 2);
        }
    }
}
