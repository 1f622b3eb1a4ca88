package org.ep4j.cli.gpu;

import java.time.Duration;
import java.util.function.Supplier;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpEvent;
import org.ep4j.cli.rank.Meeting;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuStream;
import org.ep4j.engine.gpu.GpuTimer;

/**
 * Times work of one rank in two ways, all ranks starting together and with nothing in the caches of the GPU. One thread.
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

    private final GpuDevice device;
    private final Meeting barrier;
    private final Ceiling gate;
    private final GpuStream stream;
    private final GpuTimer timer;
    private final DeviceAllocation flushed;

    GpuMeter(GpuDevice device, Meeting barrier, Ceiling gate, GpuStream stream) {
        this.device = device;
        this.barrier = barrier;
        this.gate = gate;
        this.stream = stream;
        this.timer = device.createTimer();
        this.flushed = device.allocate(FLUSHED_BYTES);
    }

    /** Nanoseconds on the GPU. */
    long onGpu(Runnable work) {
        meet();
        gate.holdBack(stream.handle());
        try {
            timer.start(stream.handle());
            work.run();
            timer.stop(stream.handle());
        } finally {
            gate.letGo();
        }
        return timer.elapsedNanos();
    }

    /** Nanoseconds as a call; {@code work} gives the event of its end. */
    long asCall(Supplier<EpEvent> work) {
        meet();
        long start = System.nanoTime();
        EpEvent event = work.get();
        while (!event.isDone() && System.nanoTime() - start < LONGEST.toNanos()) {
            Thread.onSpinWait();
        }
        long end = System.nanoTime();
        event.await(LONGEST);
        return end - start;
    }

    private void meet() {
        device.zero(flushed.memory().address(), FLUSHED_BYTES, stream.handle());
        stream.synchronize();
        barrier.await();
    }

    @Override
    public void close() {
        timer.close();
        flushed.close();
    }
}
