package org.ep4j.cli.gpu;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.ep4j.DeviceMemory;
import org.ep4j.EpEvent;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuEvent;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;

/**
 * Times work of one rank in two ways, all ranks starting together and with nothing in the caches of the GPU. For one thread.
 *
 * <ul>
 *   <li>On the GPU: the work is queued behind a kernel that ends on all ranks at once, when all hosts have queued theirs;
 *       two events around it give the time. What the host takes to queue it does not count.
 *   <li>As a call: from before the call until the host sees its event done, on a stream that is empty.
 * </ul>
 */
final class GpuMeter implements AutoCloseable {
    /** Several times the last-level cache of a GPU. */
    private static final long FLUSHED_BYTES = 256L << 20;

    private static final Duration LONGEST = Duration.ofMinutes(1);

    /** Less than the 5 s after which the gate opens by itself. */
    private static final long GATE_NANOS = Duration.ofSeconds(4).toNanos();

    private final EngineGpu device;
    private final LongSupplier barrier;
    private final Ceiling gate;
    private final GpuStream stream;
    private final GpuEvent start;
    private final GpuEvent end;
    private final TensorArena arena;
    private final DeviceMemory flushed;
    private final ExecutorService helper = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "ep-bench-gate");
        thread.setDaemon(true);
        return thread;
    });

    GpuMeter(EngineGpu device, LongSupplier barrier, Ceiling gate, GpuStream stream) {
        this.device = device;
        this.barrier = barrier;
        this.gate = gate;
        this.stream = stream;
        this.start = device.createEvent();
        this.end = device.createEvent();
        this.arena = device.arena();
        this.flushed = arena.memory(FLUSHED_BYTES);
    }

    /** Nanoseconds on the GPU. */
    long onGpu(Runnable work) {
        awaitStart();
        gate.closeGate(stream);
        try {
            start.record(stream);
            work.run();
            end.record(stream);
        } finally {
            gate.openGate();
        }
        end.await(LONGEST);
        return end.nanosSince(start);
    }

    /**
     * Nanoseconds on the GPU of work that blocks this thread until it is done: once it is queued, another thread queues the event of its
     * end and lets the ranks begin. Where the host is too slow for that, the time ends when this thread continues.
     *
     * @param queued whether the work is queued and not done
     */
    long onGpu(Runnable work, BooleanSupplier queued) {
        awaitStart();
        gate.closeGate(stream);
        start.record(stream);
        CompletableFuture<Boolean> ended = CompletableFuture.supplyAsync(() -> beginOnce(queued), helper);
        work.run();
        if (!ended.join()) {
            end.record(stream);
        }
        end.await(LONGEST);
        return end.nanosSince(start);
    }

    @SuppressWarnings("ThreadPriorityCheck") // nothing depends on the yield; the other thread may need the processor
    private boolean beginOnce(BooleanSupplier queued) {
        long began = System.nanoTime();
        try {
            while (!queued.getAsBoolean()) {
                if (System.nanoTime() - began > GATE_NANOS) {
                    return false;
                }
                Thread.yield();
            }
            end.record(stream);
            return true;
        } finally {
            gate.openGate();
        }
    }

    /** Nanoseconds as a call; {@code work} gives the event of its end. */
    long asCall(Supplier<EpEvent> work) {
        awaitStart();
        long began = System.nanoTime();
        EpEvent event = work.get();
        while (!event.isDone() && System.nanoTime() - began < LONGEST.toNanos()) {
            Thread.onSpinWait();
        }
        long ended = System.nanoTime();
        event.await(LONGEST);
        return ended - began;
    }

    /** Waits for all work that is queued on the stream. */
    void synchronize() {
        stream.synchronize(LONGEST);
    }

    @SuppressWarnings("ReturnValueIgnored") // the time of the barrier is for ranks on the host
    private void awaitStart() {
        stream.zero(flushed);
        // The driver never sleeps in this wait, which would lower the clock of the processor before the measurement.
        device.synchronize(stream.handle());
        barrier.getAsLong();
    }

    @Override
    public void close() {
        helper.shutdown();
        start.close();
        end.close();
        // A measurement that failed may have left the writes queued; where they do not end, the memory stays.
        stream.synchronize(LONGEST);
        arena.close();
    }
}
