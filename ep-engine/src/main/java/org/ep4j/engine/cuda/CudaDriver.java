package org.ep4j.engine.cuda;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import java.util.Map;
import org.ep4j.EpUnavailableException;

/**
 * The calls of the CUDA driver that ep4j makes, with the names and argument orders of {@code cuda.h}. Handles and device
 * addresses are {@code long}; results are {@code CUresult}, which {@link CudaErrors} understands. Driver 11.8 (520) or newer.
 */
@SuppressWarnings("checkstyle:MethodName")
final class CudaDriver {
    /** Name under which every driver installs itself. */
    static final String LIBRARY = "libcuda.so.1";

    /** Environment variable that names another file to load as the driver. */
    static final String VARIABLE = "EP_CUDA_DRIVER";

    private CudaDriver(String library) {
        Native.register(CudaDriver.class, NativeLibrary.getInstance(library));
    }

    /**
     * Loads the driver; a second load costs nothing that matters.
     *
     * @throws EpUnavailableException when this machine has none
     */
    static CudaDriver load() {
        return load(System.getenv());
    }

    /** Name or path of what is loaded as the driver. */
    static String library(Map<String, String> environment) {
        String named = environment.getOrDefault(VARIABLE, "");
        return named.isBlank() ? LIBRARY : named;
    }

    static CudaDriver load(Map<String, String> environment) {
        String named = environment.getOrDefault(VARIABLE, "");
        try {
            return new CudaDriver(library(environment));
        } catch (LinkageError e) {
            String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            throw new EpUnavailableException(
                    named.isBlank()
                            ? "the NVIDIA driver's " + LIBRARY + " cannot be loaded (" + reason
                                    + "); install the NVIDIA driver, and in a container run it with the NVIDIA runtime"
                            : VARIABLE + " is " + named + ", which cannot be loaded (" + reason
                                    + "); correct or unset it",
                    e);
        }
    }

    native int cuInit(int flags);

    native int cuDriverGetVersion(int[] version);

    native int cuGetErrorName(int error, long[] text);

    native int cuGetErrorString(int error, long[] text);

    native int cuDeviceGetCount(int[] count);

    native int cuDeviceGet(int[] device, int ordinal);

    native int cuDeviceGetName(byte[] name, int length, int device);

    native int cuDeviceGetAttribute(int[] value, int attribute, int device);

    native int cuDeviceTotalMem_v2(long[] bytes, int device);

    native int cuDeviceGetPCIBusId(byte[] busId, int length, int device);

    native int cuDeviceCanAccessPeer(int[] can, int device, int peer);

    native int cuDeviceGetP2PAttribute(int[] value, int attribute, int device, int peer);

    native int cuDevicePrimaryCtxRetain(long[] context, int device);

    native int cuDevicePrimaryCtxRelease_v2(int device);

    native int cuCtxPushCurrent_v2(long context);

    /** {@code context}: where to say which it was, or 0. */
    native int cuCtxPopCurrent_v2(long context);

    native int cuCtxEnablePeerAccess(long peerContext, int flags);

    native int cuMemAlloc_v2(long[] address, long bytes);

    native int cuMemFree_v2(long address);

    native int cuMemAllocAsync(long[] address, long bytes, long stream);

    native int cuMemFreeAsync(long address, long stream);

    native int cuMemGetInfo_v2(long[] free, long[] total);

    native int cuMemGetAddressRange_v2(long[] base, long[] bytes, long address);

    /** {@code handle}: a descriptor, where the type is that of dma-bufs. */
    native int cuMemGetHandleForAddressRange(int[] handle, long address, long bytes, int type, long flags);

    native int cuFlushGPUDirectRDMAWrites(int target, int scope);

    native int cuPointerGetAttribute(int[] value, int attribute, long address);

    native int cuMemsetD8_v2(long address, byte value, long count);

    native int cuMemsetD8Async(long address, byte value, long count, long stream);

    native int cuMemcpyHtoD_v2(long to, long from, long bytes);

    native int cuMemcpyDtoH_v2(long to, long from, long bytes);

    native int cuMemcpyAsync(long to, long from, long bytes, long stream);

    native int cuMemHostAlloc(long[] address, long bytes, int flags);

    native int cuMemFreeHost(long address);

    native int cuMemHostRegister_v2(long address, long bytes, int flags);

    native int cuMemHostUnregister(long address);

    native int cuMemHostGetDevicePointer_v2(long[] address, long host, int flags);

    native int cuIpcGetMemHandle(byte[] handle, long address);

    native int cuIpcOpenMemHandle_v2(long[] address, IpcHandle.ByValue handle, int flags);

    native int cuIpcCloseMemHandle(long address);

    native int cuModuleLoadData(long[] module, byte[] image);

    native int cuModuleUnload(long module);

    native int cuModuleGetFunction(long[] function, long module, String name);

    native int cuFuncGetAttribute(int[] value, int attribute, long function);

    native int cuFuncSetAttribute(long function, int attribute, int value);

    native int cuLaunchKernel(
            long function,
            int gridX,
            int gridY,
            int gridZ,
            int blockX,
            int blockY,
            int blockZ,
            int sharedBytes,
            long stream,
            long parameters,
            long extra);

    /** {@code config}: address of a {@code CUlaunchConfig}, see {@link LaunchConfig}. */
    native int cuLaunchKernelEx(long config, long function, long parameters, long extra);

    native int cuMemsetD32Async(long address, int value, long count, long stream);

    native int cuThreadExchangeStreamCaptureMode(int[] mode);

    native int cuStreamCreate(long[] stream, int flags);

    native int cuStreamDestroy_v2(long stream);

    native int cuStreamSynchronize(long stream);

    native int cuStreamQuery(long stream);

    native int cuStreamWaitEvent(long stream, long event, int flags);

    native int cuStreamIsCapturing(long stream, int[] status);

    native int cuStreamBeginCapture_v2(long stream, int mode);

    native int cuStreamEndCapture(long stream, long[] graph);

    native int cuGraphInstantiateWithFlags(long[] executable, long graph, long flags);

    native int cuGraphLaunch(long executable, long stream);

    native int cuGraphExecDestroy(long executable);

    native int cuGraphDestroy(long graph);

    native int cuEventCreate(long[] event, int flags);

    native int cuEventRecord(long event, long stream);

    native int cuEventQuery(long event);

    native int cuEventSynchronize(long event);

    native int cuEventElapsedTime(float[] milliseconds, long from, long to);

    native int cuEventDestroy_v2(long event);

    /** {@code CUipcMemHandle}: 64 opaque bytes. JNA makes it and reads its field by reflection, so all is public. */
    @FieldOrder("reserved")
    public static class IpcHandle extends Structure {
        /** Bytes of a handle. */
        static final int BYTES = 64;

        /** The handle. */
        public byte[] reserved = new byte[BYTES];

        /** As an argument by value. */
        public static final class ByValue extends IpcHandle implements Structure.ByValue {
            /** For JNA. */
            public ByValue() {}

            ByValue(byte[] handle) {
                System.arraycopy(handle, 0, reserved, 0, BYTES);
            }
        }
    }

    /** Text at the address of a driver's string, or empty. */
    static String text(long address) {
        return address == 0 ? "" : new Pointer(address).getString(0);
    }
}
