package org.ep4j.engine.gpu;

import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.DeviceCode;

/** A GPU as the engine uses it. Streams, kernels and addresses are the driver's own handles. Safe for several threads. */
public interface GpuDevice extends EpDevice {
    /** What kernels and launches are fitted to. */
    GpuFacts facts();

    /** Its memory as NICs reach it; empty where ep4j lets none do so. */
    default Optional<NicMemory> nicMemory() {
        return Optional.empty();
    }

    /** Like {@link #allocate}, of the kind that others write while kernels read it: peers, or NICs. */
    default DeviceAllocation allocateShared(long bytes) {
        return allocate(bytes);
    }

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
     * Why kernels of this GPU cannot publish by relaxed stores into the memory that it shares with others; empty where they can:
     * see {@link Publishing}.
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

    /**
     * Pinned memory of this device and what it lies in are not given back any more, not even by {@code close}: a thread that
     * could not be ended may still use them. They stay until the process ends.
     */
    void keep();

    /** Lets later work on {@code stream} wait for {@code event}; false when it is not an event of this kind of device. */
    boolean await(long stream, EpEvent event);

    /** Runs {@code work}, which makes many calls of this device; it makes them cheaper. */
    default <T> T inside(Supplier<T> work) {
        return work.get();
    }

    /** Runs {@code work}, which allocates, as is allowed while some stream records a graph. */
    void allocating(Runnable work);

    /** A new stream that waits for no other. */
    GpuStream createStream();

    /** A new event that can be recorded again and again. */
    GpuMarker createMarker();

    /** A new timer. */
    GpuTimer createTimer();

    /**
     * Records what {@code work} queues on {@code stream}, which runs nothing of it now. Operations inside must be
     * asynchronous, and dispatches of the high-throughput mode in the worst case.
     *
     * @param stream not 0, which cannot record
     * @throws org.ep4j.EpException when something was queued that cannot be recorded
     */
    GpuGraph capture(long stream, Runnable work);

    /** What the calling thread records by {@link #capture}, if it does. */
    Optional<GraphRecording> recording();
}
