package org.ep4j.backend.nvshmem;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuMarker;
import org.ep4j.engine.gpu.GpuStream;
import org.ep4j.engine.gpu.PinnedMemory;

/**
 * Reads words of GPU memory on a stream of its own, so that a put which does not end delays no read of a counter. Safe for
 * use from several threads, which wait for each other.
 */
final class CounterReader implements AutoCloseable {
    private static final System.Logger LOGGER = System.getLogger(CounterReader.class.getName());

    private final GpuDevice device;
    private final GpuStream stream;
    private final GpuMarker copied;
    /** Where words go: a copy to memory that is not pinned would block inside of the driver. */
    private final PinnedMemory word;

    private final ReentrantLock lock = new ReentrantLock();

    CounterReader(GpuDevice device) {
        this.device = device;
        this.word = device.allocatePinned(Long.BYTES);
        this.stream = device.createStream();
        this.copied = device.createMarker();
    }

    /**
     * Reads one word.
     *
     * @param what it is, for messages
     * @param source rank that advances it
     * @throws EpTimeoutException when the GPU has not read it in time
     */
    long read(long address, String what, int source, String label, Duration longest) {
        Deadline deadline = Deadline.in(longest);
        lock(what, source, label, longest);
        try {
            // A copy that was not waited for to its end writes to the same place.
            await(what, source, label, longest, deadline);
            device.copy(word.hostAddress(), address, Long.BYTES, stream.handle());
            copied.record(stream.handle());
            await(what, source, label, longest, deadline);
            return word.memory().getLongAcquire(0);
        } finally {
            lock.unlock();
        }
    }

    private void lock(String what, int source, String label, Duration longest) {
        try {
            if (!lock.tryLock(Deadline.in(longest).left().toNanos(), TimeUnit.NANOSECONDS)) {
                throw late(what, source, label, longest);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted while " + what + " of " + label + " was read");
        }
    }

    private void await(String what, int source, String label, Duration longest, Deadline deadline) {
        if (!NvshmemBuffer.passes(copied, deadline)) {
            throw late(what, source, label, longest);
        }
    }

    private EpTimeoutException late(String what, int source, String label, Duration longest) {
        return new EpTimeoutException(
                "the GPU did not read " + what + " of " + label + " in " + longest.toMillis()
                        + " ms; see nvidia-smi and" + " the messages of the kernel (dmesg), or raise ep.timeout",
                "read of " + what,
                source,
                1,
                0);
    }

    @Override
    public void close() {
        boolean ended = copied.hasPassed();
        copied.close();
        stream.close();
        if (ended) {
            word.close();
        } else {
            // Freeing it would wait for the copy.
            LOGGER.log(System.Logger.Level.WARNING, "a word of pinned memory stays, since the GPU still writes to it");
        }
    }
}
