package org.ep4j.gpu.driver;

import java.util.function.IntSupplier;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.EpUnavailableException;

/**
 * The context of one GPU, which everything in the process shares (PyTorch, JavaCPP, the vendor's runtime). Calls of the
 * driver run inside {@link #call}, which makes it current for the calling thread and puts back what was current before.
 */
public final class DriverContext implements AutoCloseable {
    private final GpuDriver driver;
    private final DriverErrors errors;
    private final int ordinal;
    private final int device;
    private final long handle;
    private final String entering;
    private volatile boolean closed;
    private volatile boolean kept;
    private volatile boolean memoryKept;

    /** Depth of nested calls of {@link #inside} in the calling thread. */
    private final ThreadLocal<int[]> inside = ThreadLocal.withInitial(() -> new int[1]);

    /**
     * Begins to use a GPU.
     *
     * @param ordinal its number among those that the process sees
     * @throws EpUnavailableException when there is no such GPU
     */
    public DriverContext(GpuDriver driver, int ordinal) {
        this.driver = driver;
        this.errors = new DriverErrors(driver);
        this.ordinal = ordinal;
        errors.check(driver.init(0), "starting the driver");
        int count = errors.read("counting the GPUs", driver::deviceGetCount);
        if (ordinal >= count) {
            throw new EpUnavailableException(this + " does not exist: this process sees " + count
                    + " GPUs; set ep.device to a lower ordinal, or check " + driver.visibleVariable());
        }
        device = errors.read("looking for " + this, found -> driver.deviceGet(found, ordinal));
        long[] context = new long[1];
        errors.check(driver.retain(context, device), "beginning to use " + this);
        handle = context[0];
        entering = "making " + this + " current";
    }

    public GpuDriver driver() {
        return driver;
    }

    public DriverErrors errors() {
        return errors;
    }

    /** Number of the GPU among those that the process sees. */
    public int ordinal() {
        return ordinal;
    }

    /** The driver's name of the GPU. */
    public int device() {
        return device;
    }

    /**
     * Runs one or more driver calls with this context current.
     *
     * @param what for the message of a failure
     * @param call gives the first result that is not 0, or 0
     */
    public void call(String what, IntSupplier call) {
        errors.check(result(call), what);
    }

    /** Like {@link #call(String, IntSupplier)}, with a message that is created only for a failure. */
    void call(Supplier<String> what, IntSupplier call) {
        int result = result(call);
        if (result != 0) {
            errors.check(result, what.get());
        }
    }

    /**
     * Runs a call that writes one number, with this context current.
     *
     * @return the handle or address that it wrote
     */
    public long read(Supplier<String> what, ToIntFunction<long[]> call) {
        long[] written = new long[1];
        call(what, () -> call.applyAsInt(written));
        return written[0];
    }

    long createStream() {
        return read(() -> "making a stream", out -> driver.streamCreate(out, GpuDriver.NON_BLOCKING));
    }

    /** Free memory of the GPU, for messages of allocations; empty where the driver does not give it. */
    String freeText() {
        long[] free = new long[1];
        long[] total = new long[1];
        int result = result(() -> driver.memGetInfo(free, total));
        return result == 0 ? " with " + free[0] + " of " + total[0] + " bytes free" : "";
    }

    /** Runs {@code work} with this context current, so that its calls need not switch one by one. */
    <T> T inside(Supplier<T> work) {
        checkOpen();
        int[] depth = inside.get();
        errors.check(driver.enter(handle), entering);
        depth[0]++;
        try {
            return work.get();
        } finally {
            depth[0]--;
            driver.leave();
        }
    }

    /** Returns whether the calling thread is {@link #inside}, so that its calls need no switch. */
    public boolean isCurrent() {
        checkOpen();
        return inside.get()[0] > 0;
    }

    /** Like {@link #call(String, IntSupplier)}, for results that are no failures. */
    public int result(IntSupplier call) {
        if (isCurrent()) {
            return call.getAsInt();
        }
        errors.check(driver.enter(handle), entering);
        try {
            return call.getAsInt();
        } finally {
            driver.leave();
        }
    }

    boolean isClosed() {
        return closed;
    }

    private void checkOpen() {
        if (closed) {
            // Handles of a context that is gone crash the driver.
            throw new EpStateException(this + " is closed, because its group was closed");
        }
    }

    /** An attribute by the driver's number. */
    public int attribute(int attribute) {
        return errors.read(
                "asking " + this + " for attribute " + attribute,
                value -> driver.deviceGetAttribute(value, attribute, device));
    }

    /** Lets kernels of this GPU load and store memory of another one in the same process. */
    public void enablePeer(DriverContext peer) {
        int result = result(() -> driver.enablePeer(peer.handle));
        if (result != 0 && result != DriverErrors.PEER_ACCESS_ALREADY_ENABLED) {
            throw new EpException(
                    this + " cannot be given access to the memory of " + peer + ": " + errors.describe(result)
                            + "; see " + driver.peerTool(),
                    DriverErrors.recourse(result));
        }
    }

    /** Keeps the context until the process ends. */
    void keep() {
        kept = true;
    }

    /** Keeps the context until the process ends, with everything that was not freed before. */
    void keepMemory() {
        memoryKept = true;
        kept = true;
    }

    boolean isMemoryKept() {
        return memoryKept;
    }

    /** Runs {@code work} unless this is closed and the driver has freed everything. */
    synchronized void ifOpen(Runnable work) {
        if (!closed || !driver.freesWithContext()) {
            work.run();
        }
    }

    /** {@code cuda:3}. */
    @Override
    public String toString() {
        return driver.type() + ":" + ordinal;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            if (!kept) {
                driver.release(device);
            }
        }
    }
}
