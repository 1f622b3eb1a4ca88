package org.ep4j.gpu.cuda;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import org.ep4j.gpu.GpuInfo;
import org.ep4j.gpu.driver.DriverContext;
import org.ep4j.gpu.driver.DriverDevice;
import org.ep4j.gpu.driver.GpuModule;
import org.ep4j.gpu.driver.MemoryHandle;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.spi.DeviceCode;
import org.ep4j.transport.memory.HostMemory;

/** One NVIDIA GPU: memory, copies and events in its primary context. */
public final class CudaDevice extends DriverDevice {
    private static final int MULTIPROCESSOR_COUNT = 16;
    private static final int MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
    private static final int MEMORY_POOLS_SUPPORTED = 115;

    private final CudaDriver driver;
    private final CudaNicMemory nicMemory;
    private final boolean bulk;
    private final ThreadLocal<LaunchConfig> launchConfig = ThreadLocal.withInitial(LaunchConfig::new);

    CudaDevice(CudaDriver driver, int ordinal) {
        this(driver, new DriverContext(driver, ordinal));
    }

    private CudaDevice(CudaDriver driver, DriverContext context) {
        super(context, info(context), context.attribute(MEMORY_POOLS_SUPPORTED) != 0);
        this.driver = driver;
        this.nicMemory = new CudaNicMemory(driver, context);
        // Hopper and newer.
        this.bulk = context.attribute(CudaDriver.COMPUTE_CAPABILITY_MAJOR) >= 9;
    }

    private static GpuInfo info(DriverContext context) {
        int capability = 10 * context.attribute(CudaDriver.COMPUTE_CAPABILITY_MAJOR)
                + context.attribute(CudaDriver.COMPUTE_CAPABILITY_MINOR);
        return GpuInfo.of(
                "sm_" + capability,
                context.attribute(MULTIPROCESSOR_COUNT),
                context.attribute(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
                32);
    }

    @Override
    public boolean hasBulkCopies() {
        return bulk;
    }

    @Override
    public Optional<NicMemory> nicMemory() {
        return Optional.of(nicMemory);
    }

    @Override
    public GpuModule load(String name, String source) {
        return new GpuModule(context(), CudaCompiler.of(driver).compile(name, source, info().architecture()));
    }

    @Override
    public GpuModule load(String name, String source, DeviceCode code) {
        return new GpuModule(context(), CudaCompiler.of(driver).link(name, source, code, info().architecture()));
    }

    @Override
    public void launchOverlapping(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters) {
        if (!bulk) {
            // Before Hopper kernels of a stream do not overlap.
            launch(kernel, blocks, threads, sharedBytes, stream, parameters);
            return;
        }
        long config = launchConfig.get().of(blocks, threads, sharedBytes, stream);
        int result = context().isCurrent()
                ? driver.cuLaunchKernelEx(config, kernel, parameters, 0)
                : context().result(() -> driver.cuLaunchKernelEx(config, kernel, parameters, 0));
        checkLaunch(result, blocks, threads, sharedBytes);
    }

    @Override
    protected DomainMemory mapDomainMemory(DriverContext in, long bytes, Optional<MemoryHandle> handle) {
        return handle.map(shared -> FabricMemory.open(in, shared)).orElseGet(() -> FabricMemory.create(in, bytes));
    }

    /**
     * {@code CUlaunchConfig} of {@code cuda.h} with one attribute: the kernel may begin before the one before it in its stream has
     * ended (programmatic stream serialization; Hopper and newer). One thread at a time.
     */
    static final class LaunchConfig {
        /** Size of {@code CUlaunchConfig}: seven unsigned ints, the stream, the attributes' address and number. */
        static final int BYTES = 56;

        /** Size of {@code CUlaunchAttribute}: the id, and a union of 64 bytes. */
        static final int ATTRIBUTE_BYTES = 72;

        private static final int STREAM = 32;
        private static final int ATTRIBUTES = 40;
        private static final int ATTRIBUTE_COUNT = 48;
        private static final int VALUE = 8;
        private static final int PROGRAMMATIC_STREAM_SERIALIZATION = 6;

        private final ByteBuffer memory =
                ByteBuffer.allocateDirect(BYTES + ATTRIBUTE_BYTES).order(ByteOrder.nativeOrder());
        private final long address = HostMemory.address(memory);

        LaunchConfig() {
            memory.putLong(ATTRIBUTES, address + BYTES);
            memory.putInt(ATTRIBUTE_COUNT, 1);
            memory.putInt(BYTES, PROGRAMMATIC_STREAM_SERIALIZATION);
            memory.putInt(BYTES + VALUE, 1);
        }

        /** Fills the structure and returns its address, valid until the next call, as long as this object is reachable. */
        long of(int blocks, int threads, int sharedBytes, long stream) {
            put(0, blocks);
            put(3, threads);
            memory.putInt(4 * 6, sharedBytes);
            memory.putLong(STREAM, stream);
            return address;
        }

        private void put(int index, int size) {
            memory.putInt(4 * index, size).putInt(4 * index + 4, 1).putInt(4 * index + 8, 1);
        }
    }
}
