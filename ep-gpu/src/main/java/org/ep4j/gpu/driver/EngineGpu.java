package org.ep4j.gpu.driver;

import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.EpEvent;
import org.ep4j.EpUnavailableException;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuStream;
import org.ep4j.spi.DeviceCode;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.DeviceArena;
import org.ep4j.transport.memory.EngineDevice;

/**
 * A GPU as the engine and backends use it, beyond what applications see. Streams, kernels and addresses are the driver's own handles. Safe
 * for several threads.
 */
public interface EngineGpu extends EngineDevice, GpuDevice {
    /** Event whose owner uses its handle for others once it is done, and so orders streams after it itself. */
    interface StreamOrdered extends EpEvent {
        /** Lets later work on {@code stream} wait for the event; does nothing when it is done. */
        void before(EngineGpu device, long stream);
    }

    /** Whether rows move by bulk copies ({@code EP_BULK} of the dialect). */
    boolean hasBulkCopies();

    /** Its memory as NICs reach it; empty where ep4j lets none do so. */
    default Optional<NicMemory> nicMemory() {
        return Optional.empty();
    }

    /** Like {@link #allocate}, of the kind that others write while kernels read it: peers, or NICs. */
    DeviceAllocation allocateShared(long bytes);

    /**
     * Compiles, or takes from the cache, and loads.
     *
     * @param name of the source, for messages
     * @param source without the dialect, which the device puts before it
     */
    GpuModule load(String name, String source);

    /**
     * As above, with what a backend contributes: compiled after its source and linked with its libraries.
     *
     * @throws org.ep4j.EpUnavailableException when this kind of GPU has no such backend, or no linker is installed
     */
    GpuModule load(String name, String source, DeviceCode code);

    /**
     * Why kernels of this GPU cannot publish by relaxed stores into the memory that it shares with others; empty where they can.
     */
    default Optional<String> relaxedStoresRefusal() {
        return Optional.of("a release on " + id() + " writes back no cache, so relaxed stores would save nothing");
    }

    /**
     * As {@link #load(String, String)}, with kernels that publish by relaxed stores.
     *
     * @throws org.ep4j.EpUnavailableException where they cannot: {@link #relaxedStoresRefusal}
     */
    default GpuModule loadRelaxed(String name, String source) {
        throw new EpUnavailableException(
                relaxedStoresRefusal().orElse("kernels on " + id() + " cannot publish by relaxed stores"));
    }

    /**
     * Zeroed memory that kernels and copies of this GPU alone reach: no other GPU and no other process does. Where the driver
     * can, neither this nor closing it waits for kernels that run; no kernel may use it any more when it is closed.
     */
    DeviceAllocation allocatePrivate(long bytes);

    /** An arena of private memory: to free what peers or NICs may reach would wait for all kernels of the GPU, other ranks' too. */
    @Override
    default TensorArena arena() {
        return new DeviceArena(this, this::allocatePrivate);
    }

    /** Zeroed memory of the host that kernels reach. */
    PinnedMemory allocatePinned(long bytes);

    /** Queues a copy between any two addresses that this device reaches. */
    void copy(long to, long from, long bytes, long stream);

    /** Queues zeroing. */
    void zero(long address, long bytes, long stream);

    /**
     * Queues a kernel.
     *
     * @param parameters address of the list of addresses of its arguments; read before this returns
     */
    void launch(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters);

    /**
     * As {@link #launch}, but where the device can, the kernel begins while the one before it in the stream still runs; it
     * calls {@code wait_for_previous} before it touches anything that others write.
     */
    void launchOverlapping(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters);

    /** True while {@code stream} records a graph. */
    boolean isCapturing(long stream);

    /** Waits for the work of {@code stream}, without a deadline. */
    void synchronize(long stream);

    /** A new event at the end of what is queued on {@code stream} now; destroyed when it is no longer reachable. */
    EpEvent record(long stream);

    /**
     * Pinned memory of this device and what it lies in are not given back any more, not even by {@code close}: a thread that
     * could not be ended may still use them. They stay until the process ends.
     */
    void keep();

    /** Lets later work on {@code stream} wait for {@code event}; false when it is not an event of this kind of device. */
    boolean await(long stream, EpEvent event);

    /** As {@link #await}, also for events that order streams themselves. */
    default boolean orderAfter(long stream, EpEvent event) {
        if (event instanceof StreamOrdered own) {
            own.before(this, stream);
            return true;
        }
        return await(stream, event);
    }

    /** Runs {@code work}, which makes many calls of this device; it makes them cheaper. */
    <T> T inside(Supplier<T> work);

    /** Runs {@code work}, which allocates, as is allowed while some stream records a graph. */
    void allocating(Runnable work);

    /** A new event without times, which is cheaper. */
    EngineEvent createUntimedEvent();

    /**
     * The handle of a stream of this GPU.
     *
     * @throws org.ep4j.EpArgumentException when it is of another device
     * @throws org.ep4j.EpStateException when it is closed
     */
    long handle(GpuStream stream);

    /** What the calling thread records by {@link GpuStream#capture}, if it does. */
    Optional<GraphRecording> recording();
}
