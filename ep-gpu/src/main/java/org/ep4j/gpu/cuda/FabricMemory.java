package org.ep4j.gpu.cuda;

import java.util.HexFormat;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.DriverContext;
import org.ep4j.gpu.driver.DriverDevice;
import org.ep4j.gpu.driver.MemoryHandle;

/**
 * Physical memory with a fabric handle, mapped at an address of this process. The driver keeps it as long as any process
 * of the NVLink domain has it mapped.
 */
final class FabricMemory implements DriverDevice.DomainMemory {
    private static final int GPU_DIRECT_RDMA_WITH_VMM_SUPPORTED = 110;

    private final DriverContext context;
    private final CudaVmm vmm;
    private final long handle;
    private final long bytes;
    private long address;
    private boolean mapped;

    private FabricMemory(DriverContext context, CudaVmm vmm, long handle, long bytes) {
        this.context = context;
        this.vmm = vmm;
        this.handle = handle;
        this.bytes = bytes;
    }

    /** Allocates and maps at least {@code bytes} bytes. */
    static FabricMemory create(DriverContext context, long bytes) {
        CudaVmm vmm = CudaVmm.load();
        boolean nics = context.attribute(GPU_DIRECT_RDMA_WITH_VMM_SUPPORTED) != 0;
        var properties = new CudaVmm.AllocationProperties(context.device(), nics);
        long granularity = context.read(
                () -> "cuMemGetAllocationGranularity for fabric handles",
                out -> vmm.cuMemGetAllocationGranularity(out, properties, CudaVmm.GRANULARITY_RECOMMENDED));
        long whole = Math.addExact(bytes, granularity - 1) / granularity * granularity;
        long handle = context.read(
                () -> "cuMemCreate of " + whole + " bytes with a fabric handle (which needs an IMEX channel)",
                out -> vmm.cuMemCreate(out, whole, properties, 0));
        return new FabricMemory(context, vmm, handle, whole).map();
    }

    /** Maps memory of another process of the domain. */
    static FabricMemory open(DriverContext context, MemoryHandle shared) {
        CudaVmm vmm = CudaVmm.load();
        byte[] shareable = HexFormat.of().parseHex(shared.handle());
        long handle = context.read(
                () -> "cuMemImportFromShareableHandle of a fabric handle (which needs the owner's IMEX channel)",
                out -> vmm.cuMemImportFromShareableHandle(out, shareable, CudaVmm.HANDLE_TYPE_FABRIC));
        return new FabricMemory(context, vmm, handle, shared.allocation()).map();
    }

    private FabricMemory map() {
        try {
            address = context.read(
                    () -> "cuMemAddressReserve of " + bytes + " bytes",
                    out -> vmm.cuMemAddressReserve(out, bytes, 0, 0, 0));
            context.call("cuMemMap of " + bytes + " bytes", () -> vmm.cuMemMap(address, bytes, 0, handle, 0));
            mapped = true;
            var access = new CudaVmm.AccessDescription(context.device());
            context.call("cuMemSetAccess", () -> vmm.cuMemSetAccess(address, bytes, access, 1));
            return this;
        } catch (RuntimeException | Error e) {
            try {
                close();
            } catch (EpException also) {
                e.addSuppressed(also);
            }
            throw e;
        }
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public long bytes() {
        return bytes;
    }

    @Override
    public String export() {
        byte[] shareable = new byte[MemoryHandle.HANDLE_BYTES];
        context.call(
                "cuMemExportToShareableHandle as a fabric handle",
                () -> vmm.cuMemExportToShareableHandle(shareable, handle, CudaVmm.HANDLE_TYPE_FABRIC, 0));
        return HexFormat.of().formatHex(shareable);
    }

    @Override
    public void close() {
        int unmapped = mapped ? context.result(() -> vmm.cuMemUnmap(address, bytes)) : 0;
        int freed = address != 0 && unmapped == 0 ? context.result(() -> vmm.cuMemAddressFree(address, bytes)) : 0;
        int released = context.result(() -> vmm.cuMemRelease(handle));
        mapped = false;
        address = 0;
        context.errors().check(unmapped, "cuMemUnmap");
        context.errors().check(freed, "cuMemAddressFree");
        context.errors().check(released, "cuMemRelease");
    }
}
