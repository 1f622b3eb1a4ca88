package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuEvent;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuKernel;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.HostDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What {@code org.ep4j.gpu} promises to applications, on emulated GPUs. */
@Tag("verify")
final class GpuApiTest {
    private static final String SOURCE = """
        struct Op { u64* words; u64 value; i64 count; u64* gate; u64 last; };
        EP_KERNEL(fill, 64) {
          for (i64 i = threadIdx.x; i < op.count; i += blockDim.x) op.words[i] = op.value + op.last;
        }
        EP_KERNEL(wait_for_gate, 64) { while (load_acquire(op.gate) < op.value) pause(); }
        EP_KERNEL(mirror, 64) {
          EP_SHARED u64 held[64];
          held[threadIdx.x] = op.words[threadIdx.x];
          sync_block();
          op.words[threadIdx.x] = held[63 - threadIdx.x];
        }
        """;

    private static final int WORDS = 100;

    private EngineGpu engine;
    private EngineGpu otherEngine;
    private GpuDevice gpu;
    private GpuDevice other;
    private TensorArena arena;
    private GpuStream stream;
    private GpuKernels kernels;
    private GpuKernel fill;
    private GpuKernel waiting;
    private Tensor words;
    private PinnedMemory gate;

    @BeforeEach
    void open() {
        engine = EmulatedGpu.open(0);
        otherEngine = EmulatedGpu.open(1);
        gpu = GpuDevice.of(engine);
        other = GpuDevice.of(otherEngine);
        arena = gpu.arena();
        stream = gpu.createStream();
        kernels = gpu.compile("api.cu", SOURCE);
        fill = kernels.kernel("fill", 64, 0);
        waiting = kernels.kernel("wait_for_gate", 64, 0);
        words = arena.tensor(DataType.INT64, WORDS);
        gate = engine.allocatePinned(8);
    }

    @AfterEach
    void close() {
        if (engine != null) {
            openGate();
            engine.synchronize(stream.handle());
            stream.close();
            kernels.close();
            gate.close();
            arena.close();
            otherEngine.close();
            engine.close();
        }
    }

    private void fill(GpuStream on, long value) {
        fill.launch(on, 1, words.address(), value, WORDS);
    }

    /** What is queued later waits for {@link #openGate}. */
    private void closeGate(GpuStream on) {
        waiting.launch(on, 1, 0, 1, 0, gate.deviceAddress());
    }

    private void openGate() {
        gate.memory().putLongRelease(0, 1);
    }

    private static long[] all(long value) {
        long[] values = new long[WORDS];
        Arrays.fill(values, value);
        return values;
    }

    private static void refused(Class<? extends EpException> type, String part, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(type).hasMessageContaining(part);
    }

    @Test
    void aStreamCopiesAndZeroesInOrder() {
        Tensor copied = arena.tensor(DataType.INT64, WORDS + 1);
        fill(stream, 7);
        stream.copy(copied.memory(), words.memory());
        stream.zero(words.memory().slice(0, 8));
        stream.zero(words.memory().slice(16, 0));
        stream.synchronize(Guard.minute());
        long[] expected = all(7);
        assertThat(gpu.longs(copied)).startsWith(expected).endsWith(0L);
        expected[0] = 0;
        assertThat(gpu.longs(words)).isEqualTo(expected);
    }

    @Test
    void memoryThatAStreamMustNotTouchIsRefused() {
        TensorArena far = other.arena();
        TensorArena gone = gpu.arena();
        DeviceMemory closed = gone.memory(8);
        gone.close();
        DeviceMemory here = words.memory();
        DeviceMemory there = far.memory(8);
        DeviceMemory host = new HostDevice().arena().memory(8);
        for (DeviceMemory wrong : new DeviceMemory[] {there, host}) {
            refused(EpArgumentException.class, "on " + wrong.device(), () -> stream.copy(here, wrong));
            refused(EpArgumentException.class, "on " + wrong.device(), () -> stream.copy(wrong, here.slice(0, 8)));
            refused(EpArgumentException.class, "on " + wrong.device(), () -> stream.zero(wrong));
        }
        refused(EpArgumentException.class, "at most the target's 8", () -> stream.copy(here.slice(0, 8), here));
        refused(EpStateException.class, "closed", () -> stream.copy(here, closed));
        refused(EpStateException.class, "closed", () -> stream.zero(closed));
        far.close();
    }

    @Test
    void waitingForAStreamEndsAtTheTimeout() {
        closeGate(stream);
        assertThatThrownBy(() -> stream.synchronize(Duration.ofMillis(20))).isInstanceOf(EpTimeoutException.class);
        openGate();
        stream.synchronize(Guard.minute());
    }

    @Test
    void aClosedStreamIsRefused() {
        GpuStream closed = gpu.createStream();
        GpuGraph graph = stream.capture(() -> fill(stream, 1));
        GpuEvent event = gpu.createEvent();
        closed.close();
        closed.close();
        for (ThrowingCallable call : new ThrowingCallable[] {
            closed::handle,
            () -> closed.synchronize(Guard.minute()),
            () -> closed.waitFor(event),
            () -> closed.copy(words.memory(), words.memory()),
            () -> closed.zero(words.memory()),
            () -> closed.capture(() -> {}),
            () -> event.record(closed),
            () -> graph.launch(closed),
            () -> fill(closed, 1)
        }) {
            refused(EpStateException.class, " of " + gpu.id() + " is closed", call);
        }
        event.close();
        graph.close();
    }

    @Test
    void aStreamOfTheCallerOutlivesItsWrapper() {
        GpuStream wrapped = gpu.stream(stream.handle());
        assertThat(wrapped.handle()).isEqualTo(stream.handle());
        fill(wrapped, 3);
        wrapped.close();
        refused(EpStateException.class, "is closed", wrapped::handle);
        stream.synchronize(Guard.minute());
        assertThat(gpu.longs(words)).isEqualTo(all(3));
    }

    @Test
    void streamsOfAnotherDeviceAreRefused() {
        GpuGraph graph = stream.capture(() -> fill(stream, 1));
        try (GpuStream far = other.createStream();
                GpuEvent event = gpu.createEvent()) {
            String wanted = "must be a stream of " + gpu.id();
            refused(EpArgumentException.class, wanted, () -> event.record(far));
            refused(EpArgumentException.class, wanted, () -> graph.launch(far));
            refused(EpArgumentException.class, wanted, () -> fill(far, 1));
            // By the handle alone only the driver knows.
            GpuStream disguised = gpu.stream(far.handle());
            refused(EpException.class, "capture", () -> disguised.capture(() -> {}));
        }
        graph.close();
    }

    @Test
    void streamsWaitForEvents() {
        try (GpuStream second = gpu.createStream();
                GpuEvent event = gpu.createEvent()) {
            assertThat(event.isDone()).as("never recorded").isTrue();
            closeGate(stream);
            fill(stream, 5);
            event.record(stream);
            second.waitFor(event);
            Tensor copied = arena.tensor(DataType.INT64, WORDS);
            second.copy(copied.memory(), words.memory());
            assertThat(event.isDone()).isFalse();
            openGate();
            second.synchronize(Guard.minute());
            event.await(Guard.minute());
            assertThat(gpu.longs(copied)).isEqualTo(all(5));
        }
    }

    @Test
    void streamsDoNotWaitForWhatTheHostHasToDo() {
        CompletableFuture<Void> work = new CompletableFuture<>();
        EpEvent event = EpEvent.of(work);
        refused(EpArgumentException.class, "await it first", () -> stream.waitFor(event));
        work.complete(null);
        stream.waitFor(event);
        EpEvent failed = EpEvent.of(CompletableFuture.failedFuture(new EpStateException("it failed")));
        refused(EpStateException.class, "it failed", () -> stream.waitFor(failed));
    }

    @Test
    void eventsMeasureTheTimeBetweenThem() {
        try (GpuEvent start = gpu.createEvent();
                GpuEvent end = gpu.createEvent();
                GpuEvent never = gpu.createEvent();
                GpuEvent far = other.createEvent()) {
            start.record(stream);
            closeGate(stream);
            end.record(stream);
            refused(EpStateException.class, "await them first", () -> end.nanosSince(start));
            openGate();
            end.await(Guard.minute());
            assertThat(end.nanosSince(start)).isNotNegative();
            refused(EpException.class, "time between two events", () -> end.nanosSince(never));
            refused(EpArgumentException.class, "an event of " + gpu.id(), () -> end.nanosSince(far));
            GpuEvent closed = gpu.createEvent();
            closed.close();
            closed.close();
            for (ThrowingCallable call : new ThrowingCallable[] {
                () -> closed.record(stream),
                closed::isDone,
                () -> closed.await(Guard.minute()),
                closed::nativeHandle,
                () -> closed.nanosSince(start),
                () -> end.nanosSince(closed)
            }) {
                refused(EpStateException.class, "is closed", call);
            }
        }
    }

    @Test
    void aGraphRunsAtEveryLaunch() {
        GpuGraph graph = stream.capture(() -> {
            refused(EpStateException.class, "being captured", () -> stream.synchronize(Guard.minute()));
            fill(stream, 9);
        });
        refused(EpStateException.class, "never launched", graph::lastLaunch);
        assertThat(gpu.longs(words)).as("only recorded").isEqualTo(all(0));
        graph.launch(stream);
        graph.lastLaunch().await(Guard.minute());
        assertThat(gpu.longs(words)).isEqualTo(all(9));
        closeGate(stream);
        graph.launch(stream);
        EpEvent last = graph.lastLaunch();
        assertThat(last.isDone()).isFalse();
        openGate();
        last.await(Guard.minute());
        graph.close();
        graph.close();
        refused(EpStateException.class, "the graph is closed", () -> graph.launch(stream));
    }

    @Test
    void aFailedCaptureLeavesTheStreamAsItWas() {
        assertThatThrownBy(() -> stream.capture(() -> {
                    throw new IllegalStateException("thrown inside");
                }))
                .hasMessage("thrown inside");
        fill(stream, 2);
        stream.synchronize(Guard.minute());
        assertThat(gpu.longs(words)).isEqualTo(all(2));
        for (long handle : new long[] {0, 1}) {
            refused(EpException.class, "capture", () -> gpu.stream(handle).capture(() -> {}));
        }
    }

    @Test
    void aGraphContainsTheStreamsThatWaitForItsEvents() {
        try (GpuStream second = gpu.createStream();
                GpuEvent fork = gpu.createEvent();
                GpuEvent join = gpu.createEvent()) {
            Tensor copied = arena.tensor(DataType.INT64, WORDS);
            GpuGraph graph = stream.capture(() -> {
                fill(stream, 6);
                fork.record(stream);
                second.waitFor(fork);
                refused(EpStateException.class, "being captured", () -> second.synchronize(Guard.minute()));
                second.copy(copied.memory(), words.memory());
                join.record(second);
                stream.waitFor(join);
            });
            assertThat(gpu.longs(copied)).as("only recorded").isEqualTo(all(0));
            closeGate(stream);
            graph.launch(stream);
            assertThat(join.isDone()).as("before the graph has run").isTrue();
            join.await(Duration.ZERO);
            refused(EpException.class, "time between two events", () -> join.nanosSince(fork));
            openGate();
            graph.lastLaunch().await(Guard.minute());
            assertThat(gpu.longs(copied)).isEqualTo(all(6));
            graph.close();
        }
    }

    @Test
    void fieldsThatAreLeftOutAreZero() {
        fill.launch(stream, 1, words.address(), 1, WORDS, 0, 40);
        fill.launch(stream, 1, words.address(), 2, WORDS - 1);
        stream.synchronize(Guard.minute());
        long[] expected = all(2);
        expected[WORDS - 1] = 41;
        assertThat(gpu.longs(words)).isEqualTo(expected);
        refused(
                EpArgumentException.class,
                "fields is 65 fields, must be at most 64",
                () -> fill.launch(stream, 1, new long[GpuKernel.MAX_FIELDS + 1]));
        refused(EpArgumentException.class, "blocks is 0", () -> fill.launch(stream, 0, words.address()));
    }

    @Test
    void kernelsThatDoNotExistAreRefused() {
        int shared = gpu.info().sharedBytes();
        refused(EpArgumentException.class, "kernel is fil,", () -> kernels.kernel("fil", 64, 0));
        refused(EpArgumentException.class, "threads is 0", () -> kernels.kernel("fill", 0, 0));
        refused(EpArgumentException.class, "from 1 to 64", () -> kernels.kernel("fill", 65, 0));
        refused(EpArgumentException.class, "sharedBytes is -1", () -> kernels.kernel("fill", 64, -1));
        refused(EpArgumentException.class, "from 0 to " + shared, () -> kernels.kernel("fill", 64, shared + 1));
        refused(EpArgumentException.class, "sharedBytes is " + shared, () -> kernels.kernel("mirror", 64, shared));
        refused(EpException.class, "broken.cu", () -> gpu.compile("broken.cu", "this is no kernel;\n"));
    }

    @Test
    void aKernelKeepsItsSharedMemoryWhenAnotherIsAskedForWithLess() {
        GpuKernel large = kernels.kernel("fill", 64, 60_000);
        GpuKernel small = kernels.kernel("fill", 64, 0);
        large.launch(stream, 1, words.address(), 1, WORDS);
        small.launch(stream, 1, words.address(), 2, WORDS);
        stream.synchronize(Guard.minute());
        assertThat(gpu.longs(words)).isEqualTo(all(2));
    }

    @Test
    void closedKernelsAreRefused() {
        GpuKernels closed = gpu.compile("api.cu", SOURCE);
        GpuKernel kernel = closed.kernel("fill", 64, 0);
        closed.close();
        closed.close();
        refused(EpStateException.class, "api.cu are closed", () -> closed.kernel("fill", 64, 0));
        refused(EpStateException.class, "api.cu are closed", () -> kernel.launch(stream, 1, words.address(), 1, WORDS));
    }
}
