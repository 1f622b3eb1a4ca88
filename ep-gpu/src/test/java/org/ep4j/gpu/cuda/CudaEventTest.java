package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.ep4j.EpEvent;
import org.ep4j.EpTimeoutException;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.GpuModule;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Streams, events and graphs: the order of work. */
@Tag("verify")
final class CudaEventTest {
    private static final String SOURCE = """
            struct Op { u64* counter; u64* gate; u64 until; };
            EP_KERNEL(waits, 32) { while (load_acquire(op.gate) < op.until) pause(); }
            EP_KERNEL(counts, 32) { if (threadIdx.x == 0) add(op.counter, 1ull); }
            """;

    @Test
    void anEventIsDoneWhenTheWorkBeforeItIs() {
        try (CudaDevice device = EmulatedCuda.open(0);
                GpuModule module = device.load("gate", SOURCE);
                GpuStream stream = device.createStream();
                PinnedMemory gate = device.allocatePinned(8)) {
            Kernels.launch(device, module.kernel("waits", 0), 1, 32, 0, stream.handle(), 0, gate.deviceAddress(), 1);
            EpEvent event = device.record(stream.handle());
            assertThat(event.isDone()).isFalse();
            assertThatThrownBy(() -> event.await(Duration.ofMillis(20)))
                    .isInstanceOf(EpTimeoutException.class)
                    .hasMessageContaining("PT0.02S");
            gate.memory().putLongRelease(0, 1);
            event.await(Guard.minute());
            assertThat(event.isDone()).isTrue();
        }
    }

    /** A kernel may wait for what the thread that allocates does next. */
    @Test
    void privateMemoryIsAllocatedAndFreedWhileAKernelRuns() {
        try (CudaDevice device = EmulatedCuda.open(0);
                GpuModule module = device.load("gate", SOURCE);
                GpuStream stream = device.createStream();
                PinnedMemory gate = device.allocatePinned(8)) {
            DeviceAllocation before = device.allocatePrivate(1 << 20);
            Kernels.launch(device, module.kernel("waits", 0), 1, 32, 0, stream.handle(), 0, gate.deviceAddress(), 1);
            EpEvent event = device.record(stream.handle());
            try (DeviceAllocation beside = device.allocatePrivate(3000)) {
                assertThat(Kernels.read(device, beside.memory()).getLong(2992)).isZero();
            }
            before.close();
            assertThat(event.isDone()).isFalse();
            gate.memory().putLongRelease(0, 1);
            event.await(Guard.minute());
        }
    }

    @Test
    void aStreamWaitsForTheEventOfAnother() {
        try (CudaDevice device = EmulatedCuda.open(0);
                GpuModule module = device.load("gate", SOURCE);
                GpuStream first = device.createStream();
                GpuStream second = device.createStream();
                PinnedMemory words = device.allocatePinned(16)) {
            long gate = words.deviceAddress();
            Kernels.launch(device, module.kernel("waits", 0), 1, 32, 0, first.handle(), 0, gate, 1);
            assertThat(device.await(second.handle(), device.record(first.handle())))
                    .isTrue();
            Kernels.launch(device, module.kernel("counts", 0), 1, 32, 0, second.handle(), gate + 8, gate, 0);
            EpEvent counted = device.record(second.handle());
            assertThatThrownBy(() -> counted.await(Duration.ofMillis(20))).isInstanceOf(EpTimeoutException.class);
            assertThat(words.memory().getLongAcquire(8)).isZero();
            words.memory().putLongRelease(0, 1);
            counted.await(Guard.minute());
            assertThat(words.memory().getLongAcquire(8)).isEqualTo(1);
        }
    }

    @Test
    void aGraphDoesItsWorkAtEveryLaunchAndNotBefore() {
        try (CudaDevice device = EmulatedCuda.open(0);
                GpuModule module = device.load("gate", SOURCE);
                GpuStream stream = device.createStream();
                DeviceAllocation counter = device.allocate(8)) {
            long kernel = module.kernel("counts", 0);
            long address = counter.memory().address();
            assertThat(device.isCapturing(stream.handle())).isFalse();
            PinnedMemory arguments = device.allocatePinned(32);
            arguments.memory().putLong(0, arguments.deviceAddress() + 8);
            arguments.memory().putLong(8, address);
            try (GpuGraph graph = stream.capture(() -> {
                assertThat(device.isCapturing(stream.handle())).isTrue();
                for (int i = 0; i < 3; i++) {
                    device.launch(kernel, 1, 32, 0, stream.handle(), arguments.deviceAddress());
                }
            })) {
                stream.synchronize(Guard.minute());
                assertThat(Kernels.read(device, counter.memory()).getLong(0)).isZero();
                graph.launch(stream);
                graph.launch(stream);
                stream.synchronize(Guard.minute());
                assertThat(Kernels.read(device, counter.memory()).getLong(0)).isEqualTo(6);
            }
            arguments.close();
        }
    }

    @Test
    void aFailedCaptureLeavesTheStreamUsable() {
        try (CudaDevice device = EmulatedCuda.open(0);
                GpuStream stream = device.createStream()) {
            assertThatThrownBy(() -> stream.capture(() -> {
                        throw new IllegalStateException("thrown inside");
                    }))
                    .hasMessage("thrown inside");
            assertThat(device.isCapturing(stream.handle())).isFalse();
            stream.synchronize(Guard.minute());
        }
    }

    @Test
    void memoryMayBeAllocatedWhileAStreamRecords() {
        try (CudaDevice device = EmulatedCuda.open(0);
                GpuStream stream = device.createStream();
                GpuGraph graph = stream.capture(
                        () -> device.allocating(() -> device.allocatePinned(64).close()))) {
            graph.launch(stream);
            stream.synchronize(Guard.minute());
        }
    }
}
