package org.ep4j.engine.gpu;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.OpOptions;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.sync.Waits;
import org.jspecify.annotations.Nullable;

/**
 * Queues the operations of one buffer, in the order of the calls, and tells how they ended. The device runs them one after
 * another, also when they come on different streams.
 */
final class Operations {
    /** A failed kernel records after its deadline; then the host looks for so much longer. */
    private static final Duration GRACE = Duration.ofSeconds(5);

    private static final Duration LONGEST = Duration.ofDays(10_000);

    /** {@code CU_STREAM_PER_THREAD}: another stream in every thread. */
    private static final long PER_THREAD_STREAM = 2;

    private static final long SPIN_NANOS = 200_000;
    private static final long PAUSE_NANOS = 20_000;

    private final GpuDevice device;
    private final Launcher launcher;
    private final Failures failures;
    private final DeviceState state;
    private final Abort abort;
    private final Waits waits;
    private final Processors processors;
    private final Arguments common;
    private final Duration defaultTimeout;
    private final ReentrantLock lock = new ReentrantLock(true);

    /** The device's own event, whose end says nothing of failures: those who take a failure wait for it. */
    private @Nullable EpEvent last;

    private long lastStream;
    private long sequence;
    private long recovered;
    private volatile boolean closing;
    private volatile boolean closed;

    Operations(
            GpuDevice device,
            Launcher launcher,
            Failures failures,
            DeviceState state,
            Abort abort,
            Waits waits,
            Processors processors,
            Arguments common,
            Duration defaultTimeout) {
        this.device = device;
        this.launcher = launcher;
        this.failures = failures;
        this.state = state;
        this.abort = abort;
        this.waits = waits;
        this.processors = processors;
        this.common = common;
        this.defaultTimeout = defaultTimeout;
    }

    /** Puts the kernels of an operation into a queue. */
    interface Body<T> {
        /** Queues; {@code event} is that of the operation's end, which can be waited for once this has returned. */
        T run(Queue queue, EpEvent event);
    }

    /**
     * Queues an operation; returns when it is done, unless it is asynchronous.
     *
     * @param request what must stay reachable until the operation is queued
     * @param counted true for operations, false for the second half of one
     */
    <T> T submit(Object request, OpOptions options, boolean counted, Body<T> body) {
        Duration timeout = bounded(options.timeout().orElse(defaultTimeout));
        LateEvent event = new LateEvent();
        T result;
        lock(timeout);
        try {
            checkOpen();
            settle(timeout);
            result = device.inside(() -> queue(options, timeout, counted, body, event));
        } finally {
            lock.unlock();
        }
        try {
            if (!options.async()) {
                event.await(timeout.plus(timeout).plus(GRACE));
            }
            return result;
        } finally {
            Reference.reachabilityFence(request);
        }
    }

    private <T> T queue(OpOptions options, Duration timeout, boolean counted, Body<T> body, LateEvent event) {
        processors.checkStream(options.stream());
        boolean capturing = device.isCapturing(options.stream());
        if (capturing && !options.async()) {
            throw new EpStateException("the stream 0x" + Long.toHexString(options.stream())
                    + " records a graph, in which nothing can be waited for; pass OpOptions.asynchronous()");
        }
        order(options, timeout, capturing);
        processors.use();
        if (counted) {
            sequence++;
        }
        T result = body.run(new StreamQueue(options.stream(), timeout, capturing), event);
        EpEvent recorded = device.record(options.stream());
        event.set(new GpuEvent(recorded, this, sequence));
        if (!capturing) {
            last = recorded;
            lastStream = options.stream();
        }
        return result;
    }

    /** A failure that nobody has asked for yet keeps all kernels from working: it is taken before the next operation. */
    private void settle(Duration timeout) {
        if (failures.isPending()) {
            takeFailure(timeout);
        }
    }

    private void takeFailure(Duration timeout) {
        boolean broken = failures.isBroken();
        if (broken && last != null) {
            // Operations behind the failed one do nothing, so this is short.
            awaitDevice(last, GRACE);
        }
        noteBegun();
        // Also when a wait failed only now, or at the same moment as an operation was refused.
        if (failures.take(sequence, timeout) || state.hasFailed()) {
            if (!broken && last != null) {
                awaitDevice(last, GRACE);
            }
            state.clearFailure();
        }
    }

    /** The device numbers operations; whoever explains a failure compares them with those of other ranks. */
    private void noteBegun() {
        long[] begun = state.numbers();
        waits.begin(Counter.HT_ENTER, begun[0]);
        waits.begin(Counter.LL_DISPATCH, begun[1]);
        waits.begin(Counter.LL_COMBINE, begun[2]);
    }

    private void order(OpOptions options, Duration timeout, boolean capturing) {
        for (EpEvent event : options.after()) {
            if (!device.await(options.stream(), event)) {
                event.await(timeout);
            }
        }
        boolean same = lastStream == options.stream() && lastStream != PER_THREAD_STREAM;
        if (!capturing && last != null && !same && !last.isDone()) {
            device.await(options.stream(), last);
        }
    }

    /** Runs host work between operations: what was queued is done, or failed. */
    void exclusive(Duration longest, Runnable work) {
        Duration timeout = bounded(longest);
        lock(timeout);
        try {
            checkOpen();
            if (last != null) {
                awaitDevice(last, timeout.plus(timeout).plus(GRACE));
            }
            settle(timeout);
            work.run();
        } finally {
            lock.unlock();
        }
    }

    /** Operations that ended well since the last recovery. */
    long completed() {
        return sequence - recovered - failures.failed(recovered, sequence);
    }

    /** Counts anew. */
    void recovered() {
        recovered = sequence;
    }

    /** Waits for the end of an operation and throws what it ended with. */
    void await(EpEvent recorded, long number, Duration deadline) {
        awaitDevice(recorded, deadline);
        if (failures.isPending()) {
            lock(bounded(deadline).plus(GRACE));
            try {
                settle(defaultTimeout);
            } finally {
                lock.unlock();
            }
        }
        failures.check(number);
    }

    /** Waits on the host; meanwhile a rank that dies, or a buffer that is closed, ends the waits of kernels. */
    private void awaitDevice(EpEvent recorded, Duration deadline) {
        long start = System.nanoTime();
        long limit = bounded(deadline).toNanos();
        long checked = start;
        while (!recorded.isDone()) {
            long now = System.nanoTime();
            if (now - start > limit) {
                throw new EpTimeoutException(
                        "event not done after " + deadline + "; pass a longer deadline or look at the work before it",
                        "event",
                        -1,
                        1,
                        0);
            }
            if (now - checked > 1_000_000) {
                checked = now;
                endWaitsForTheGone();
            }
            if (now - start < SPIN_NANOS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
        // Reports what made the device fail, if something did.
        recorded.await(Duration.ofSeconds(1));
        if (!closing) {
            abort.none();
        }
    }

    /** Twice that and more still fits a clock of nanoseconds. */
    private static Duration bounded(Duration duration) {
        return duration.compareTo(LONGEST) > 0 ? LONGEST : duration;
    }

    private void endWaitsForTheGone() {
        // Somebody whose operation ended may have seen the buffer open still, and let the waits go on.
        if (closing || waits.isAnyLost()) {
            abort.all();
        }
        waits.left().forEach(abort::waitsFor);
    }

    private void lock(Duration timeout) {
        try {
            if (lock.tryLock() || lock.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted while waiting for the operation before this one");
        }
        throw new EpTimeoutException(
                "the call before this one did not end in " + timeout.toMillis()
                        + " ms; look at the thread that runs it, or raise ep.timeout",
                "queue",
                -1,
                1,
                0);
    }

    private void checkOpen() {
        if (closed) {
            throw new EpStateException("the buffer is closed; create another one");
        }
    }

    boolean isClosed() {
        return closed;
    }

    /**
     * Refuses new operations, ends the waits of running ones and waits for these.
     *
     * @return false when it was closed before
     */
    boolean close() {
        // A recovery or a mask holds the lock while it waits.
        closing = true;
        waits.close();
        abort.all();
        lock.lock();
        try {
            if (closed) {
                return false;
            }
            closed = true;
            if (last != null) {
                awaitDevice(last, GRACE.plus(GRACE));
            }
            settle(defaultTimeout);
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** The event that an operation's results hold while the operation is being queued. */
    private static final class LateEvent implements EpEvent {
        private volatile @Nullable EpEvent event;

        void set(EpEvent recorded) {
            event = recorded;
        }

        private EpEvent get() {
            EpEvent recorded = event;
            if (recorded == null) {
                throw new EpStateException("the operation was not queued");
            }
            return recorded;
        }

        @Override
        public boolean isDone() {
            return get().isDone();
        }

        @Override
        public void await(Duration deadline) {
            get().await(deadline);
        }

        @Override
        public long nativeHandle() {
            return get().nativeHandle();
        }
    }

    private final class StreamQueue implements Queue {
        private final long stream;
        private final Duration timeout;
        private final boolean capturing;

        StreamQueue(long stream, Duration timeout, boolean capturing) {
            this.stream = stream;
            this.timeout = timeout;
            this.capturing = capturing;
        }

        @Override
        public long stream() {
            return stream;
        }

        @Override
        public Arguments arguments() {
            return common.copy().set(Param.DEADLINE, timeout.toNanos()).set(Param.SEQUENCE, sequence);
        }

        @Override
        public void launch(String kernel, int blocks, int threads, int sharedBytes, Arguments arguments) {
            launcher.launch(kernel, blocks, threads, sharedBytes, stream, arguments, false);
        }

        @Override
        public void launchOverlapping(String kernel, int blocks, int threads, int sharedBytes, Arguments arguments) {
            launcher.launch(kernel, blocks, threads, sharedBytes, stream, arguments, processors.isAlone());
        }

        @Override
        public void copy(long to, long from, long bytes) {
            device.copy(to, from, bytes, stream);
        }

        @Override
        public void zero(long address, long bytes) {
            device.zero(address, bytes, stream);
        }

        @Override
        public boolean isCapturing() {
            return capturing;
        }
    }
}
