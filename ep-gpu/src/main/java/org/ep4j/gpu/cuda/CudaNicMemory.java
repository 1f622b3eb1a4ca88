package org.ep4j.gpu.cuda;

import java.util.Optional;
import java.util.function.IntSupplier;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.DriverContext;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.ep4j.spi.ExposedMemory;

/** Access of NICs to memory of an NVIDIA GPU. Constants are those of {@code cuda.h}, without their prefixes. */
public final class CudaNicMemory implements NicMemory {
    private static final int GPU_DIRECT_RDMA_SUPPORTED = 116;
    private static final int FLUSH_WRITES_OPTIONS = 117;
    private static final int WRITES_ORDERING = 118;
    private static final int DMA_BUF_SUPPORTED = 124;
    private static final int RANGE_HANDLE_TYPE_DMA_BUF_FD = 1;
    private static final int FLUSH_TARGET_CURRENT_CTX = 0;
    private static final int FLUSH_TO_OWNER = 100;
    private static final int FLUSH_OPTION_HOST = 1;

    /** The GPU with the memory sees writes in order. */
    private static final int WRITES_ORDERING_OWNER = 100;

    private final DriverContext context;
    private final CudaDriver driver;
    private final GpuDirect facts;

    /** Created once, since the threads that flush allocate nothing. */
    private final IntSupplier flush;

    CudaNicMemory(CudaDriver driver, DriverContext context) {
        this.context = context;
        this.driver = driver;
        this.facts = facts(driver, context.device());
        this.flush = () -> driver.cuFlushGPUDirectRDMAWrites(FLUSH_TARGET_CURRENT_CTX, FLUSH_TO_OWNER);
    }

    /** Returns what a GPU allows, without a context on it; empty if there is no such GPU. */
    public static Optional<GpuDirect> facts(Device device) {
        if (!device.type().equals("cuda")) {
            return Optional.empty();
        }
        try {
            CudaDriver driver = CudaDriver.load();
            int[] handle = new int[1];
            return driver.init(0) == 0 && driver.deviceGet(handle, device.ordinal()) == 0
                    ? Optional.of(facts(driver, handle[0]))
                    : Optional.empty();
        } catch (EpException e) {
            // The probe of the device says why.
            return Optional.empty();
        }
    }

    private static GpuDirect facts(CudaDriver driver, int device) {
        return facts(
                driver.attributeOr(0, GPU_DIRECT_RDMA_SUPPORTED, device) != 0,
                driver.attributeOr(0, DMA_BUF_SUPPORTED, device) != 0,
                driver.attributeOr(0, WRITES_ORDERING, device),
                driver.attributeOr(0, FLUSH_WRITES_OPTIONS, device));
    }

    /**
     * Evaluates the driver's attributes. If writes are ordered for the owner, as from compute capability 9.0 on, the GPU sees in order what
     * NICs write; else the host must flush; if it cannot, NICs must not write.
     */
    static GpuDirect facts(boolean supported, boolean dmaBuf, int writesOrdering, int flushOptions) {
        boolean ordered = writesOrdering >= WRITES_ORDERING_OWNER;
        Optional<String> refusal = Optional.empty();
        if (!supported) {
            refusal = Optional.of(
                    "the GPU's driver reports that NICs cannot reach the memory of this GPU (GPU_DIRECT_RDMA_SUPPORTED"
                            + " is 0)");
        } else if (!ordered && (flushOptions & FLUSH_OPTION_HOST) == 0) {
            refusal = Optional.of("the GPU does not see writes of NICs in order (GPU_DIRECT_RDMA_WRITES_ORDERING is "
                    + writesOrdering + "), and the host cannot flush them (GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS is "
                    + flushOptions + ")");
        }
        return new GpuDirect(
                refusal,
                dmaBuf
                        ? Optional.empty()
                        : Optional.of(
                                "the GPU's driver cannot export dma-bufs (DMA_BUF_SUPPORTED is 0); install NVIDIA's"
                                        + " open kernel modules, on Linux 5.12 or newer"),
                !ordered);
    }

    @Override
    public GpuDirect facts() {
        return facts;
    }

    @Override
    public File export(DeviceMemory memory) {
        long start = memory.address() / GRANULE * GRANULE;
        long end = (memory.address() + memory.byteSize() + GRANULE - 1) / GRANULE * GRANULE;
        int[] descriptor = new int[1];
        context.call(
                "cuMemGetHandleForAddressRange of " + memory + " as dma-buf",
                () -> driver.cuMemGetHandleForAddressRange(
                        descriptor, start, end - start, RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
        return new File(new ExposedMemory.DmaBuf(descriptor[0], memory.address() - start));
    }

    @Override
    public void flush() {
        int result = context.result(flush);
        if (result != 0) {
            context.errors().check(result, "cuFlushGPUDirectRDMAWrites");
        }
    }
}
