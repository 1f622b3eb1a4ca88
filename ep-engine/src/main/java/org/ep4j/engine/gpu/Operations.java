package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.EventRing.OperationEvent;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Waits;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.EngineGpu.EngineEvent;
import org.ep4j.gpu.driver.GraphRecording;
import org.ep4j.transport.Failures;
import org.jspecify.annotations.Nullable;

/**
 * Queues the operations of one buffer, in the order of the calls, and reports how they ended. The device runs them one after
 * another, also on different streams.
 */
final class Operations implements GraphRecording.Replayed {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Time for a failed kernel to record its failure after its deadline. */
    private static final Duration GRACE = Duration.ofSeconds(5);

    private static final Duration LONGEST = Duration.ofDays(10_000);

    private static final long SPIN_NANOS = 200_000;
    private static final long PAUSE_NANOS = 20_000;

    private final EngineGpu device;
    private final Launcher launcher;
    private final KernelFailures failures;
    private final DeviceState state;
    private final AbortWords abort;
    private final Waits waits;
    private final Multiprocessors multiprocessors;
    private final KernelMemory memory;
    private final Arguments common;
    private final Duration defaultTimeout;
    private final EventRing events;
    private final ReentrantLock lock = new ReentrantLock(true);

    /** Newest operation; the end of a failed one is awaited through it. */
    private @Nullable OperationEvent last;

    private long lastStream;

    /** For synchronous calls on a stream that all ranks of the process share; created at its first use. */
    private @Nullable GpuStream ownStream;

    /** End of what was queued on the shared stream before. */
    private @Nullable EngineEvent sharedWork;

    private long sequence;

    /** Second halves that are queued since the last recovery. */
    private long seconds;

    private long recorded;

    /** Numbers of second halves in graphs. */
    private final Set<Long> recordedSeconds = ConcurrentHashMap.newKeySet();

    /** Recorded operations up to this one use memory that the buffer has left. */
    private long recordedBeforeMove;

    private long recovered;
    private boolean ringsHaveHoles;
    /** Number of moves of the buffer. Written under the lock of {@code abort}. */
    private volatile int moves;

    private Consumer<List<Long>> beforeReplay = numbers -> {};
    private boolean anyFailed;
    private volatile boolean closing;
    private volatile boolean closed;

    Operations(
            EngineGpu device,
            Launcher launcher,
            KernelFailures failures,
            DeviceState state,
            AbortWords abort,
            Waits waits,
            Multiprocessors multiprocessors,
            KernelMemory memory,
            Arguments common,
            Duration defaultTimeout,
            Cleaner cleaner) {
        this.device = device;
        this.launcher = launcher;
        this.failures = failures;
        this.state = state;
        this.abort = abort;
        this.waits = waits;
        this.multiprocessors = multiprocessors;
        this.memory = memory;
        this.common = common;
        this.defaultTimeout = defaultTimeout;
        this.events = new EventRing(device, cleaner);
    }

    /**
     * Queues an operation; returns when it is done, unless it is asynchronous.
     *
     * @param request stays reachable until the operation is queued
     * @param body queues its kernels; the event is its end, and can be awaited once this has returned
     */
    <T> T submit(Object request, OpOptions options, BiFunction<Queue, EpEvent, T> body) {
        return submit(request, options, Optional.empty(), body);
    }

    /** Queues the second half of an operation, with the options of the first; returns when it is done, unless it is asynchronous. */
    <T> T submitSecond(Object request, OpOptions options, FirstHalf first, BiFunction<Queue, EpEvent, T> body) {
        return submit(request, options, Optional.of(first), body);
    }

    private <T> T submit(
            Object request, OpOptions options, Optional<FirstHalf> first, BiFunction<Queue, EpEvent, T> body) {
        multiprocessors.require(options.multiprocessors());
        Duration timeout = bounded(options.timeout().orElse(defaultTimeout));
        OperationEvent event =
                new OperationEvent(this, first.isPresent() ? first.get().number() : 0);
        T result = locked(timeout, () -> {
            waits.requireReady();
            settle();
            mendRings();
            if (first.isEmpty()) {
                throwUnreported();
            }
            return device.inside(() -> queue(options, timeout, first, body, event));
        });
        try {
            if (!options.isAsynchronous()) {
                event.await(timeout.plus(timeout).plus(GRACE));
            }
            return result;
        } catch (EpTimeoutException e) {
            // The caller has no event to await again, and a repeated call would be an operation that other ranks do not
            // have.
            throw Failures.with(e, e.failure(), EpException.Recourse.RECOVER);
        } finally {
            Reference.reachabilityFence(request);
        }
    }

    private <T> T queue(
            OpOptions options,
            Duration timeout,
            Optional<FirstHalf> first,
            BiFunction<Queue, EpEvent, T> body,
            OperationEvent event) {
        if (options.isAsynchronous()) {
            multiprocessors.requireOwn(options.stream());
        }
        boolean moves = !options.isAsynchronous() && multiprocessors.ranksShare(options.stream());
        long stream = moves ? ownStreamBehind(options.stream()) : options.stream();
        boolean capturing = device.isCapturing(stream);
        if (capturing && !options.isAsynchronous()) {
            throw new EpStateException("stream 0x" + Long.toHexString(stream)
                    + " is being captured into a graph, and a synchronous operation cannot wait during a capture; pass"
                    + " OpOptions.asynchronous()");
        }
        if (first.isPresent()) {
            requireTogether(first.get(), stream, capturing);
        }
        for (EpEvent before : options.after()) {
            if (!device.orderAfter(stream, before)) {
                before.await(timeout);
            }
        }
        multiprocessors.use();
        memory.posting().wake();
        if (capturing) {
            return record(stream, timeout, options.multiprocessors(), first, body, event);
        }
        orderAfterLast(stream);
        long number = ++sequence;
        if (first.isPresent()) {
            second(number);
        }
        T result = body.apply(new Queue(stream, timeout, options.multiprocessors(), false, number), event);
        end(event, stream, number, number);
        return result;
    }

    /** Orders this rank's own stream after what is queued on {@code shared} now. */
    private long ownStreamBehind(long shared) {
        GpuStream own = ownStream == null ? device.createStream() : ownStream;
        ownStream = own;
        EngineEvent before = sharedWork == null ? device.createUntimedEvent() : sharedWork;
        sharedWork = before;
        before.record(shared);
        device.await(own.handle(), before);
        return own.handle();
    }

    /** Gives a recorded operation, or half of one, a number of its own: its runs are known only when graphs are launched. */
    private <T> T record(
            long stream,
            Duration timeout,
            OptionalInt ofCall,
            Optional<FirstHalf> first,
            BiFunction<Queue, EpEvent, T> body,
            OperationEvent event) {
        long number = KernelFailures.RECORDED + ++recorded;
        if (first.isPresent()) {
            // Replays of other recordings are not known.
            device.recording().ifPresent(recording -> {
                recordedSeconds.add(number);
                recording.whenClosed(() -> recordedSeconds.remove(number));
            });
        }
        T result = body.apply(new Queue(stream, timeout, ofCall, true, number), event);
        events.recordOnce(event, stream, number);
        device.recording().ifPresent(recording -> recording.add(this, number));
        return result;
    }

    /**
     * Checks that the second half of an operation would be where its first half is: in the same recording of a graph, or in none.
     *
     * @throws EpStateException when it would not
     */
    private void requireTogether(FirstHalf first, long stream, boolean capturing) {
        if (first.isRecorded() && !(capturing && first.recording().equals(device.recording()))) {
            throw new EpStateException(
                    "the operation is recorded in a graph, and receive() must be recorded in the same one;"
                            + " call it before the recording ends");
        }
        if (!first.isRecorded() && capturing) {
            throw new EpStateException("stream 0x" + Long.toHexString(stream)
                    + " is being captured into a graph, but the operation was sent before; call receive() before the"
                    + " recording begins");
        }
    }

    /** Sets what is checked before a graph is launched, by the numbers that its operations were recorded with. */
    void beforeReplay(Consumer<List<Long>> check) {
        beforeReplay = check;
    }

    /** Counts the second half of an operation that counts already. */
    private void second(long number) {
        failures.second(number);
        seconds++;
    }

    private void end(OperationEvent event, long stream, long first, long newest) {
        long done = events.record(event, stream, first, newest);
        if (done > 0 && !failures.isPending()) {
            failures.ended(done);
        }
        last = event;
        lastStream = stream;
    }

    @Override
    public EpEvent replay(List<Long> numbers, long stream, Runnable launch) {
        Duration timeout = bounded(defaultTimeout);
        OperationEvent event = new OperationEvent(this, 0);
        return locked(timeout, () -> {
            waits.requireReady();
            if (numbers.get(0) <= recordedBeforeMove) {
                throw new EpStateException(
                        "the buffer has recovered into new memory since the graph was recorded, but the"
                                + " graph's operations use the old memory; record the graph again");
            }
            beforeReplay.accept(numbers);
            settle();
            mendRings();
            throwUnreported();
            return device.inside(() -> {
                multiprocessors.requireOwn(stream);
                if (device.isCapturing(stream)) {
                    throw new EpStateException("stream 0x" + Long.toHexString(stream)
                            + " is being captured into a graph, and this graph cannot contain another graph with"
                            + " operations of buffers; call these operations during the capture instead");
                }
                multiprocessors.use();
                memory.posting().wake();
                orderAfterLast(stream);
                launch.run();
                long first = sequence + 1;
                sequence += numbers.size();
                for (int i = 0; i < numbers.size() && !recordedSeconds.isEmpty(); i++) {
                    if (recordedSeconds.contains(numbers.get(i))) {
                        second(first + i);
                    }
                }
                failures.replayed(numbers, first);
                end(event, stream, first, sequence);
                return event;
            });
        });
    }

    /** Throws the failure of an operation that no caller has awaited. */
    private void throwUnreported() {
        Optional<EpException> failure = failures.takeUnreported();
        if (failure.isPresent()) {
            throw failure.get();
        }
    }

    /** Takes a pending failure, which would keep kernels from working. */
    private void settle() {
        if (failures.isPending()) {
            takeFailure();
        }
    }

    private void takeFailure() {
        // Also that of a graph captured elsewhere, which counts as no operation.
        anyFailed = true;
        boolean broken = failures.isBroken();
        boolean ring = failures.isOfRing();
        if (broken && last != null) {
            // Operations behind the failed one do nothing, so this is short.
            awaitDevice(last, GRACE);
        }
        noteBegun();
        // Also when a wait failed only now, or at the same moment as an operation was refused.
        if (failures.take(sequence) || state.hasFailed()) {
            if (!broken && last != null) {
                awaitDevice(last, GRACE);
            }
            state.clearFailure();
            // Nothing runs now, and the failures are taken.
            failures.ended(sequence);
            ringsHaveHoles |= ring;
        }
    }

    /** Restarts rings in which a kernel that gave up has left a hole, since commands behind it are not taken. */
    void mendRings() {
        if (ringsHaveHoles) {
            memory.posting().restart(GRACE);
            ringsHaveHoles = false;
        }
    }

    /** Reads the device's numbers of operations, which are compared with those of other ranks to explain a failure. */
    private void noteBegun() {
        long[] begun = state.numbers();
        waits.begin(Counter.HT_ENTER, begun[0]);
        waits.begin(Counter.LL_DISPATCH, begun[1]);
        waits.begin(Counter.LL_COMBINE, begun[2]);
    }

    private void orderAfterLast(long stream) {
        boolean same = lastStream == stream && stream != Multiprocessors.PER_THREAD_STREAM;
        if (last != null && !same && !last.isDone()) {
            last.before(device, stream);
        }
    }

    /** Runs host work between operations: what was queued is done, or failed. */
    <T> T exclusive(Duration longest, Supplier<T> work) {
        Duration timeout = bounded(longest);
        return locked(timeout, () -> {
            if (last != null) {
                awaitDevice(last, timeout.plus(timeout).plus(GRACE));
            }
            settle();
            failures.ended(sequence);
            return work.get();
        });
    }

    /** Counts the operations that succeeded since the last recovery; of those with two halves, the ones that were sent. */
    long completed() {
        return sequence - recovered - seconds - failures.failed(recovered, sequence);
    }

    /** Restarts the count of operations. Called inside {@link #exclusive}. */
    void recovered() {
        failures.takeUnreported();
        recovered = sequence;
        seconds = 0;
    }

    /**
     * Switches later operations to the memory that was prepared last, without the ranks of {@code mask}. Called inside
     * {@link #exclusive}.
     */
    void moved(Mask mask, int ranks) {
        memory.use(common);
        ringsHaveHoles = false;
        synchronized (abort) {
            moves++;
            if (!closing) {
                abort.all(false);
            }
            for (int r = 0; r < ranks; r++) {
                if (!mask.has(r) && !memory.posting().hasGivenUp(r)) {
                    abort.rank(r, false);
                }
            }
        }
        recordedBeforeMove = recorded == 0 ? 0 : KernelFailures.RECORDED + recorded;
    }

    /** Voids what earlier operations of all ranks owe each other. Called inside {@link #exclusive}. */
    void restarted() {
        anyFailed = false;
    }

    /** Returns whether no operation has failed since {@link #restarted}. Called inside {@link #exclusive}. */
    boolean allSucceeded() {
        return !anyFailed;
    }

    /** Waits for the end of an operation and throws its failure. */
    void await(OperationEvent event, Duration deadline) {
        awaitDevice(event, deadline);
        restIfLast(event);
        if (failures.isPending()) {
            lock(bounded(deadline).plus(GRACE));
            try {
                settle();
            } finally {
                lock.unlock();
            }
        } else if (event.last() < KernelFailures.RECORDED) {
            failures.ended(event.last());
        }
        if (event.firstHalf() != 0) {
            failures.check(event.firstHalf(), event.firstHalf());
        }
        failures.check(event.first(), event.last());
        waits.requireMember("the end of an operation");
    }

    /** Lets proxy threads sleep if nothing is queued after an operation. */
    private void restIfLast(OperationEvent event) {
        if (memory.posting() != Posting.NONE && lock.tryLock()) {
            try {
                if (last == event) {
                    memory.posting().quiet();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /** Waits on the host; meanwhile the loss of a rank, or the end of the buffer, ends the waits of kernels. */
    private void awaitDevice(OperationEvent event, Duration deadline) {
        if (!event.hasPassed()) {
            device.inside(() -> {
                poll(event, deadline);
                return event;
            });
        }
        if (!closing) {
            abort.all(false);
        }
    }

    private void poll(OperationEvent event, Duration deadline) {
        long start = System.nanoTime();
        long limit = bounded(deadline).toNanos();
        long checked = start;
        int before = moves;
        while (!event.hasPassed()) {
            long now = System.nanoTime();
            if (now - start > limit) {
                throw new EpTimeoutException(
                        "event not done after " + deadline + ": " + event
                                + "; pass a longer deadline, or check the work that was queued before the event",
                        EpFailure.builder("event", -1).expected(1).build(),
                        EpException.Recourse.FIX_CALL);
            }
            if (now - checked > 1_000_000) {
                checked = now;
                abortWaits(before);
                before = moves;
            }
            if (now - start < SPIN_NANOS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** Limits a duration so that a multiple of it fits a clock of nanoseconds. */
    private static Duration bounded(Duration duration) {
        return duration.compareTo(LONGEST) > 0 ? LONGEST : duration;
    }

    /** Ends waits that cannot succeed, unless the buffer has moved since the operation was found not to be done, after {@code before} moves. */
    private void abortWaits(int before) {
        // A caller whose operation has ended may have cleared the abort word just before the buffer was closed.
        boolean all = closing || waits.isAnyLost() || waits.isLeftOut();
        List<Integer> absent = waits.absent();
        synchronized (abort) {
            // What was found before a move does not hold for the memory after it.
            if (closing || moves == before) {
                if (all) {
                    abort.all(true);
                }
                absent.forEach(rank -> abort.rank(rank, true));
            }
        }
    }

    private <T> T locked(Duration timeout, Supplier<T> work) {
        lock(timeout);
        try {
            checkOpen();
            return work.get();
        } finally {
            lock.unlock();
        }
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
                        + " ms; check the thread that runs it, or raise ep.timeout",
                EpFailure.builder("queue", -1).expected(1).build(),
                EpException.Recourse.FIX_CALL);
    }

    private void checkOpen() {
        if (closed) {
            throw new EpStateException("the buffer is closed; create another one");
        }
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public long place() {
        return state.address();
    }

    /** Returns the handle of an event that has passed. */
    long passedHandle() {
        return events.passedHandle();
    }

    /** Destroys events and streams; nothing of this buffer runs any more. */
    void free() {
        events.close();
        if (sharedWork != null) {
            sharedWork.close();
        }
        if (ownStream != null) {
            ownStream.close();
        }
    }

    /** Returns whether nothing of this buffer is queued or runs. */
    boolean isIdle() {
        lock.lock();
        try {
            return last == null || last.isDone();
        } finally {
            lock.unlock();
        }
    }

    /** Refuses new operations, aborts and awaits those that run. A second call does nothing. */
    void close() {
        // A recovery or a mask holds the lock while it waits.
        closing = true;
        waits.close();
        abort.all(true);
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            if (last != null) {
                awaitDevice(last, GRACE.plus(GRACE));
            }
            settle();
            failures.takeUnreported()
                    .ifPresent(failure -> LOG.log(
                            System.Logger.Level.WARNING,
                            "an operation of the closed buffer failed, and its event was never awaited",
                            failure));
        } finally {
            lock.unlock();
        }
    }

    /**
     * First half of an operation whose second half is queued by another call.
     *
     * @param number that kernels know the operation by
     * @param recording of the graph that the operation is in, if that is known
     */
    record FirstHalf(long number, Optional<GraphRecording> recording) {
        boolean isRecorded() {
            return number > KernelFailures.RECORDED;
        }
    }

    final class Queue {
        private final long stream;
        private final Duration timeout;
        private final OptionalInt ofCall;
        private final boolean capturing;
        private final long number;

        private Queue(long stream, Duration timeout, OptionalInt ofCall, boolean capturing, long number) {
            this.stream = stream;
            this.timeout = timeout;
            this.ofCall = ofCall;
            this.capturing = capturing;
            this.number = number;
        }

        /** Returns arguments in which those that all kernels of this buffer share are set, the others 0. */
        Arguments arguments() {
            return common.copy().set(Param.DEADLINE, timeout.toNanos()).set(Param.SEQUENCE, number);
        }

        /** Returns the blocks of this operation in high throughput: the number of the call, or the buffer's. */
        int highThroughputBlocks() {
            return ofCall.orElse(multiprocessors.highThroughput());
        }

        /** Returns the blocks of this operation in low latency, likewise. */
        int lowLatencyBlocks() {
            return ofCall.orElse(multiprocessors.lowLatency());
        }

        /** Returns what the second half of the operation needs to know of this one. */
        FirstHalf firstHalf() {
            return new FirstHalf(number, capturing ? device.recording() : Optional.empty());
        }

        /** Queues a kernel that begins when all work that was queued before has ended. */
        void launch(String kernel, int blocks, int threads, int sharedBytes, Arguments arguments) {
            launcher.launch(kernel, blocks, threads, sharedBytes, stream, arguments, false);
        }

        /** Queues a kernel that calls {@code wait_for_previous}: see {@link EngineGpu#launchOverlapping}. */
        void launchOverlapping(String kernel, int blocks, int threads, int sharedBytes, Arguments arguments) {
            launcher.launch(kernel, blocks, threads, sharedBytes, stream, arguments, multiprocessors.isAlone());
        }

        /** Queues the kernel that receives, after the one that sends {@code x}, and overlapping it unless {@code out} is the same memory. */
        void launchReceiving(
                String kernel, int blocks, int threads, int sharedBytes, Arguments arguments, Tensor x, Tensor out) {
            boolean apart =
                    out.address() + out.byteSize() <= x.address() || x.address() + x.byteSize() <= out.address();
            launcher.launch(
                    kernel, blocks, threads, sharedBytes, stream, arguments, apart && multiprocessors.isAlone());
        }

        /** Returns whether the stream records a graph, so that nothing may wait on the host. */
        boolean isCapturing() {
            return capturing;
        }
    }
}
