package org.ep4j.gpu.cuda;

import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.NativeMethods;
import org.jspecify.annotations.Nullable;

/** Virtual memory management of the CUDA driver: separate calls for pages and addresses, as in {@code cuda.h}. */
@SuppressWarnings("checkstyle:MethodName")
final class CudaVmm {
    static final int HANDLE_TYPE_FABRIC = 8;
    static final int GRANULARITY_RECOMMENDED = 1;
    private static final int PINNED = 1;
    private static final int ON_DEVICE = 1;
    private static final int READ_WRITE = 3;

    private CudaVmm() {
        NativeMethods.bind(CudaVmm.class, CudaDriver.library(System.getenv()));
    }

    /** Loads the calls; only needed if memory is shared beyond a host. */
    static CudaVmm load() {
        try {
            return new CudaVmm();
        } catch (LinkageError e) {
            throw new EpUnavailableException(
                    "the NVIDIA driver cannot manage memory for fabric handles (" + e.getMessage()
                            + "); install driver 520 or newer",
                    e);
        }
    }

    native int cuMemGetAllocationGranularity(long[] bytes, AllocationProperties properties, int option);

    native int cuMemCreate(long[] handle, long bytes, AllocationProperties properties, long flags);

    native int cuMemRelease(long handle);

    native int cuMemAddressReserve(long[] address, long bytes, long alignment, long wanted, long flags);

    native int cuMemAddressFree(long address, long bytes);

    native int cuMemMap(long address, long bytes, long offset, long handle, long flags);

    native int cuMemUnmap(long address, long bytes);

    native int cuMemSetAccess(long address, long bytes, AccessDescription description, long count);

    native int cuMemExportToShareableHandle(byte[] shareable, long handle, int type, long flags);

    native int cuMemImportFromShareableHandle(long[] handle, byte[] shareable, int type);

    /** {@code CUmemAllocationProp}, 32 bytes. JNA reads the fields by reflection, so all is public. */
    @FieldOrder({
        "type",
        "requestedHandleTypes",
        "locationType",
        "locationId",
        "win32",
        "compressionType",
        "gpuDirectRdmaCapable",
        "usage",
        "reserved"
    })
    public static final class AllocationProperties extends Structure {
        public int type = PINNED;
        public int requestedHandleTypes = HANDLE_TYPE_FABRIC;
        public int locationType = ON_DEVICE;
        public int locationId;
        public @Nullable Pointer win32;
        public byte compressionType;
        public byte gpuDirectRdmaCapable;
        public short usage;
        public byte[] reserved = new byte[4];

        /** Memory of a device that can be shared in the NVLink domain, and registered with NICs where it can. */
        AllocationProperties(int device, boolean nics) {
            locationId = device;
            gpuDirectRdmaCapable = (byte) (nics ? 1 : 0);
        }
    }

    /** {@code CUmemAccessDesc}, 12 bytes. JNA reads the fields by reflection, so all is public. */
    @FieldOrder({"locationType", "locationId", "flags"})
    public static final class AccessDescription extends Structure {
        public int locationType = ON_DEVICE;
        public int locationId;
        public int flags = READ_WRITE;

        /** A device may load and store. */
        AccessDescription(int device) {
            locationId = device;
        }
    }
}
