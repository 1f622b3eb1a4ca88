package org.ep4j.gpu.hip;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.GpuInfo;
import org.ep4j.gpu.driver.DriverContext;
import org.ep4j.gpu.driver.DriverDevice;
import org.ep4j.gpu.driver.GpuModule;
import org.ep4j.gpu.driver.KernelCache;
import org.ep4j.gpu.driver.MemoryHandle;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.spi.DeviceCode;

/** One AMD GPU, or one partition of it: memory, copies and events as HIP has them. */
public final class HipDevice extends DriverDevice {
    private final HipRuntime runtime;
    private final HipNicMemory nicMemory;

    HipDevice(HipRuntime runtime, int ordinal) {
        this(runtime, new DriverContext(runtime, ordinal));
    }

    private HipDevice(HipRuntime runtime, DriverContext context) {
        super(context, info(runtime, context), context.attribute(HipRuntime.MEMORY_POOLS_SUPPORTED) != 0);
        this.runtime = runtime;
        this.nicMemory = new HipNicMemory(runtime, context);
    }

    private static GpuInfo info(HipRuntime runtime, DriverContext context) {
        return GpuInfo.of(
                HipArchitecture.target(runtime.architecture(context.device())),
                context.attribute(HipRuntime.MULTIPROCESSOR_COUNT),
                context.attribute(HipRuntime.MAX_SHARED_MEMORY_PER_BLOCK),
                context.attribute(HipRuntime.WARP_SIZE));
    }

    @Override
    public boolean hasBulkCopies() {
        return false;
    }

    @Override
    public Optional<NicMemory> nicMemory() {
        return Optional.of(nicMemory);
    }

    @Override
    public GpuModule load(String name, String source) {
        return load(name, "", source);
    }

    @Override
    public Optional<String> relaxedStoresRefusal() {
        if (HipArchitecture.of(info().architecture()).isEmpty()) {
            return Optional.of("ep4j supports relaxed stores only on " + HipArchitecture.served() + ", and " + id()
                    + " is a " + info().architecture());
        }
        return runtime.sharesUncached(id().ordinal())
                ? Optional.empty()
                : Optional.of("symmetric memory of " + id()
                        + " is fine-grained, because this process sees no other GPU with an xGMI link to that GPU");
    }

    @Override
    public GpuModule loadRelaxed(String name, String source) {
        return load(name, HipCompiler.RELAXED_STORES, source);
    }

    private GpuModule load(String name, String macros, String source) {
        Map<String, String> environment = System.getenv();
        HipCompiler compiler = new HipCompiler(
                HipInstallation.find(environment, Path.of("/")), KernelCache.of(environment), HipRtcProcess.DEADLINE);
        return new GpuModule(
                context(),
                compiler.compile(
                        name, macros, source, runtime.architecture(context().device())));
    }

    @Override
    public GpuModule load(String name, String source, DeviceCode code) {
        throw new EpUnavailableException("kernels of AMD GPUs cannot be linked with a device library such as "
                + code.version() + "; leave its backend out with ep.backend.exclude");
    }

    @Override
    protected DomainMemory mapDomainMemory(DriverContext in, long bytes, Optional<MemoryHandle> handle) {
        throw new EpException(
                "xGMI connects only GPUs of one host, and HIP cannot share memory with GPUs of other hosts; connect"
                        + " hosts with a NIC backend");
    }
}
