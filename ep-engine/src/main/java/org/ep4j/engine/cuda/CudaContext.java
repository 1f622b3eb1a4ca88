package org.ep4j.engine.cuda;

import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.EpUnavailableException;

/**
 * The primary context of one GPU, which everything in the process shares (PyTorch, JavaCPP, the CUDA runtime). Calls of the
 * driver run inside {@link #call}, which makes it current for the calling thread and puts back what was current before.
 */
public final class CudaContext implements AutoCloseable {
    private final CudaDriver driver;
    private final CudaErrors errors;
    private final int ordinal;
    private final int device;
    private final long handle;
    private volatile boolean closed;
    private volatile boolean kept;

    /** How often the calling thread is in {@link #inside}. */
    private final ThreadLocal<int[]> inside = ThreadLocal.withInitial(() -> new int[1]);

    CudaContext(CudaDriver driver, int ordinal) {
        this.driver = driver;
        this.errors = new CudaErrors(driver);
        this.ordinal = ordinal;
        errors.check(driver.cuInit(0), "cuInit");
        int[] count = new int[1];
        errors.check(driver.cuDeviceGetCount(count), "cuDeviceGetCount");
        if (ordinal >= count[0]) {
            throw new EpUnavailableException("cuda:" + ordinal + " does not exist, this process sees " + count[0]
                    + " GPUs; use a lower number, or see CUDA_VISIBLE_DEVICES");
        }
        int[] found = new int[1];
        errors.check(driver.cuDeviceGet(found, ordinal), "cuDeviceGet(" + ordinal + ")");
        device = found[0];
        long[] context = new long[1];
        errors.check(driver.cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain of cuda:" + ordinal);
        handle = context[0];
    }

    CudaDriver driver() {
        return driver;
    }

    CudaErrors errors() {
        return errors;
    }

    /** Number of the GPU among those that the process sees. */
    int ordinal() {
        return ordinal;
    }

    /** {@code CUdevice}. */
    int device() {
        return device;
    }

    /** {@code CUcontext}. */
    long handle() {
        return handle;
    }

    /**
     * Runs one or more driver calls with this context current.
     *
     * @param what for the message of a failure
     * @param call gives the first {@code CUresult} that is not 0, or 0
     */
    void call(String what, IntSupplier call) {
        errors.check(result(call), what);
    }

    /** Like {@link #call(String, IntSupplier)}, with a message that is put together only when it is needed. */
    void call(Supplier<String> what, IntSupplier call) {
        int result = result(call);
        if (result != 0) {
            errors.check(result, what.get());
        }
    }

    /** Runs {@code work} with this context current throughout, so that its calls need not make it so one by one. */
    <T> T inside(Supplier<T> work) {
        checkOpen();
        int[] depth = inside.get();
        errors.check(driver.cuCtxPushCurrent_v2(handle), "cuCtxPushCurrent of cuda:" + ordinal);
        depth[0]++;
        try {
            return work.get();
        } finally {
            depth[0]--;
            driver.cuCtxPopCurrent_v2(0);
        }
    }

    /** True in a thread that is {@link #inside}: its calls need nothing around them. */
    boolean isCurrent() {
        checkOpen();
        return inside.get()[0] > 0;
    }

    /** Like {@link #call(String, IntSupplier)}, for results that are no failures. */
    int result(IntSupplier call) {
        if (isCurrent()) {
            return call.getAsInt();
        }
        errors.check(driver.cuCtxPushCurrent_v2(handle), "cuCtxPushCurrent of cuda:" + ordinal);
        try {
            return call.getAsInt();
        } finally {
            driver.cuCtxPopCurrent_v2(0);
        }
    }

    private void checkOpen() {
        if (closed) {
            // Handles of a context that is gone crash the driver.
            throw new EpStateException("cuda:" + ordinal + " is closed; its group was closed before");
        }
    }

    /** A {@code CUdevice_attribute}. */
    int attribute(int attribute) {
        int[] value = new int[1];
        errors.check(driver.cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute(" + attribute + ")");
        return value[0];
    }

    /** Compute capability as {@code 10 * major + minor}. */
    int computeCapability() {
        return 10 * attribute(75) + attribute(76);
    }

    /** Lets kernels of this GPU load and store memory of another one in the same process. */
    void enablePeer(CudaContext peer) {
        int result = result(() -> driver.cuCtxEnablePeerAccess(peer.handle, 0));
        if (result != 0 && result != CudaErrors.PEER_ACCESS_ALREADY_ENABLED) {
            throw new EpException("cuda:" + ordinal + " cannot be given access to the memory of cuda:" + peer.ordinal
                    + ": " + errors.describe(result) + "; see nvidia-smi topo -p2p r");
        }
    }

    /** The context stays until the process ends, with all that was not freed before. */
    void keep() {
        kept = true;
    }

    boolean isKept() {
        return kept;
    }

    /** Runs {@code work} unless this is closed, in which case the driver has freed everything already. */
    synchronized void ifOpen(Runnable work) {
        if (!closed) {
            work.run();
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            if (!kept) {
                driver.cuDevicePrimaryCtxRelease_v2(device);
            }
        }
    }
}
