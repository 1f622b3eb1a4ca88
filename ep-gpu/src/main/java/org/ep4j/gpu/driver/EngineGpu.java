package org.ep4j.gpu.driver;

import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.EpEvent;
import org.ep4j.EpUnavailableException;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuStream;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.DeviceCode;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.DeviceArena;
import org.ep4j.transport.memory.EngineDevice;

/** Calls of a GPU for the engine and backends. Streams, kernels and addresses are the driver's own handles. Safe for several threads. */
public interface EngineGpu extends EngineDevice, GpuDevice {
    /** Event of a GPU that the engine records on streams by their handles. Safe for several threads. */
    interface EngineEvent extends EpEvent, AutoCloseable {
        /** Moves the event to the end of what is queued on {@code stream} now. */
        void record(long stream);

        /** Returns whether the work before it is done; throws if the device failed. */
        boolean hasPassed();

        /** Destroys the event; streams that wait for it continue to wait. */
        @Override
        void close();
    }

    /** Event whose owner reuses the driver's event once it is done, and so orders streams after it itself. */
    interface StreamOrdered extends EpEvent {
        /** Makes later work on {@code stream} wait for the event; does nothing if it is done. */
        void before(EngineGpu device, long stream);
    }

    @Override
    default Fingerprint fingerprint(GroupPlan plan, int rank) {
        return Fingerprint.ofGpu(plan, rank, info().architecture(), info().multiprocessors());
    }

    /** Returns whether rows move by bulk copies ({@code EP_BULK} of the dialect). */
    boolean hasBulkCopies();

    /** Access of NICs to its memory; empty if ep4j supports none. */
    default Optional<NicMemory> nicMemory() {
        return Optional.empty();
    }

    /** Like {@link #allocate}, for memory that peers or NICs write while kernels read it. */
    DeviceAllocation allocateShared(long bytes);

    /** Compiles a source, which lacks the dialect, or takes its code from the cache, and loads it; {@code name} is for messages. */
    GpuModule load(String name, String source);

    /**
     * As above, compiled after the source of a backend and linked with its libraries.
     *
     * @throws org.ep4j.EpUnavailableException when this kind of GPU has no such backend, or no linker is installed
     */
    GpuModule load(String name, String source, DeviceCode code);

    /** Returns why kernels of this GPU cannot publish by relaxed stores into shared memory; empty if they can. */
    default Optional<String> relaxedStoresRefusal() {
        return Optional.of("a release on " + id() + " writes back no cache, so relaxed stores would save nothing");
    }

    /** As {@link #load(String, String)}, with kernels that publish by relaxed stores; throws by {@link #relaxedStoresRefusal}. */
    default GpuModule loadRelaxed(String name, String source) {
        throw new EpUnavailableException(
                relaxedStoresRefusal().orElse("kernels on " + id() + " cannot publish by relaxed stores"));
    }

    /**
     * Allocates zeroed memory that only kernels and copies of this GPU reach, no other GPU and no other process. If the driver supports
     * it, neither this nor closing the memory waits for kernels that run; no kernel may use it any more when it is closed.
     */
    DeviceAllocation allocatePrivate(long bytes);

    /** An arena of private memory: freeing what peers or NICs may reach would wait for all kernels of the GPU, also of other ranks. */
    @Override
    default TensorArena arena() {
        return new DeviceArena(this, this::allocatePrivate);
    }

    /** Allocates zeroed host memory that kernels reach. */
    PinnedMemory allocatePinned(long bytes);

    /** Queues a copy between any two addresses that this device reaches. */
    void copy(long to, long from, long bytes, long stream);

    /** Queues zeroing of memory. */
    void zero(long address, long bytes, long stream);

    /** Queues a kernel; {@code parameters} is the address of the list of addresses of its arguments, read before this returns. */
    void launch(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters);

    /**
     * As {@link #launch}, but if the device supports it, the kernel begins while the one before it in the stream still runs; it
     * calls {@code wait_for_previous} before it accesses anything that others write.
     */
    void launchOverlapping(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters);

    /** Returns whether {@code stream} records a graph. */
    boolean isCapturing(long stream);

    /** Waits for the work of {@code stream}, without a deadline. */
    void synchronize(long stream);

    /** Creates an event at the end of what is queued on {@code stream} now; destroyed when it is no longer reachable. */
    EpEvent record(long stream);

    /** Keeps the context until the process ends, for a library that has its state there. Memory is freed as before. */
    void keepContext();

    /**
     * Keeps pinned memory, memory of arenas and the context until the process ends: a kernel that has not ended, or a thread that could
     * not be ended, may still use them.
     */
    void keepMemory();

    /** Makes later work on {@code stream} wait for {@code event}; returns false if it is not an event of this kind of device. */
    boolean await(long stream, EpEvent event);

    /** As {@link #await}, also for events that order streams themselves. */
    default boolean orderAfter(long stream, EpEvent event) {
        if (event instanceof StreamOrdered own) {
            own.before(this, stream);
            return true;
        }
        return await(stream, event);
    }

    /** Runs {@code work} with the context of this device current, which makes its calls cheaper. */
    <T> T inside(Supplier<T> work);

    /** Runs {@code work}, which allocates, in the mode in which that is allowed while a stream records a graph. */
    void allocating(Runnable work);

    /** Creates an event without times, which is cheaper. */
    EngineEvent createUntimedEvent();

    /** Returns the handle of a stream; throws if it is closed, or a stream of another device. */
    long handle(GpuStream stream);

    /** The recording of the calling thread by {@link GpuStream#capture}, if there is one. */
    Optional<GraphRecording> recording();
}
