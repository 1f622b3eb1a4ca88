package org.ep4j.gpu.cuda;

import com.sun.jna.Pointer;
import java.util.Map;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.DriverErrors;
import org.ep4j.gpu.driver.GpuDriver;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.NativeMethods.Prefix;
import org.ep4j.transport.memory.NativeMethods.Symbol;

/**
 * The calls of the CUDA driver that ep4j makes, with the argument orders of {@code cuda.h}. Handles and device addresses are {@code long};
 * results are {@code CUresult}, see {@link DriverErrors}. Driver 11.8 (520) or newer.
 */
@Prefix("cu")
@SuppressWarnings("checkstyle:MethodName")
final class CudaDriver implements GpuDriver {
    /** Name of the library in every installation. */
    static final String LIBRARY = "libcuda.so.1";

    /** Environment variable that names another file to load as the driver. */
    static final String VARIABLE = "EP_CUDA_DRIVER";

    // Names of constants are those of cuda.h, without their prefixes.
    static final int COMPUTE_CAPABILITY_MAJOR = 75;
    static final int COMPUTE_CAPABILITY_MINOR = 76;
    private static final int LAZY_ENABLE_PEER_ACCESS = 1;
    private static final int PORTABLE_AND_MAPPED = 1 | 2;
    private static final int MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;

    private CudaDriver(String library) {
        NativeMethods.bind(CudaDriver.class, library);
    }

    /** Loads the driver, or throws EpUnavailableException without one. A second load costs nothing. */
    static CudaDriver load() {
        return load(System.getenv());
    }

    /** Name or path of the library that is loaded as the driver. */
    static String library(Map<String, String> environment) {
        String named = environment.getOrDefault(VARIABLE, "");
        return named.isBlank() ? LIBRARY : named;
    }

    static CudaDriver load(Map<String, String> environment) {
        String named = environment.getOrDefault(VARIABLE, "");
        try {
            return new CudaDriver(library(environment));
        } catch (LinkageError e) {
            String reason = NativeMethods.reason(e);
            throw new EpUnavailableException(
                    named.isBlank()
                            ? "the NVIDIA driver's " + LIBRARY + " cannot be loaded (" + reason
                                    + "); install the NVIDIA driver, and start containers with the NVIDIA runtime"
                            : VARIABLE + " is " + named + ", which cannot be loaded (" + reason
                                    + "); correct or unset this variable",
                    e);
        }
    }

    native int cuDriverGetVersion(int[] version);

    native int cuGetErrorName(int error, long[] text);

    native int cuGetErrorString(int error, long[] text);

    native int cuDeviceCanAccessPeer(int[] can, int device, int peer);

    native int cuDeviceGetP2PAttribute(int[] value, int attribute, int device, int peer);

    /** {@code context}: where to write which it was, or 0. */
    native int cuCtxPopCurrent_v2(long context);

    native int cuCtxEnablePeerAccess(long peerContext, int flags);

    /** {@code handle}: a descriptor, where the type is that of dma-bufs. */
    native int cuMemGetHandleForAddressRange(int[] handle, long address, long bytes, int type, long flags);

    native int cuFlushGPUDirectRDMAWrites(int target, int scope);

    native int cuMemHostAlloc(long[] address, long bytes, int flags);

    native int cuIpcOpenMemHandle_v2(long[] address, IpcHandle handle, int flags);

    native int cuFuncSetAttribute(long function, int attribute, int value);

    /** {@code config}: address of a {@code CUlaunchConfig}, see {@link CudaDevice.LaunchConfig}. */
    native int cuLaunchKernelEx(long config, long function, long parameters, long extra);

    @Override
    public String type() {
        return "cuda";
    }

    @Override
    public String describe(int result) {
        long[] text = new long[1];
        String name = cuGetErrorName(result, text) == 0 ? text(text[0]) : "";
        String meaning = cuGetErrorString(result, text) == 0 ? text(text[0]) : "";
        return (name.isEmpty() ? "CUresult" : name) + " (" + result + (meaning.isEmpty() ? "" : ", " + meaning) + ")";
    }

    @Override
    public String visibleVariable() {
        return "CUDA_VISIBLE_DEVICES";
    }

    @Override
    public String peerTool() {
        return "nvidia-smi topo -p2p r";
    }

    @Override
    public boolean freesWithContext() {
        return true;
    }

    /** Version of the driver, as 1000 * major + 10 * minor. */
    int version() {
        return new DriverErrors(this).read("cuDriverGetVersion", this::cuDriverGetVersion);
    }

    @Override
    public native int init(int flags);

    @Override
    public native int deviceGetCount(int[] count);

    @Override
    public native int deviceGet(int[] device, int ordinal);

    @Override
    public native int deviceGetAttribute(int[] value, int attribute, int device);

    @Override
    public native int deviceGetName(byte[] text, int length, int device);

    @Override
    public native int deviceGetPCIBusId(byte[] text, int length, int device);

    @Override
    @Symbol("cuDevicePrimaryCtxRetain")
    public native int retain(long[] context, int device);

    @Override
    @Symbol("cuDevicePrimaryCtxRelease_v2")
    public native int release(int device);

    @Override
    @Symbol("cuCtxPushCurrent_v2")
    public native int enter(long context);

    @Override
    public int leave() {
        return cuCtxPopCurrent_v2(0);
    }

    @Override
    public int enablePeer(long context) {
        return cuCtxEnablePeerAccess(context, 0);
    }

    @Override
    @Symbol("cuMemAlloc_v2")
    public native int allocate(long[] address, long bytes);

    @Override
    @Symbol("cuMemAlloc_v2")
    public native int allocateShared(long[] address, long bytes);

    @Override
    @Symbol("cuMemFree_v2")
    public native int free(long address);

    @Override
    public native int memAllocAsync(long[] address, long bytes, long stream);

    @Override
    public native int memFreeAsync(long address, long stream);

    @Override
    @Symbol("cuMemGetInfo_v2")
    public native int memGetInfo(long[] free, long[] total);

    @Override
    @Symbol("cuMemGetAddressRange_v2")
    public native int memGetAddressRange(long[] base, long[] bytes, long address);

    @Override
    public native int memsetD8Async(long address, byte value, long bytes, long stream);

    @Override
    @Symbol("cuMemcpyHtoD_v2")
    public native int memcpyHtoD(long to, long from, long bytes);

    @Override
    @Symbol("cuMemcpyDtoH_v2")
    public native int memcpyDtoH(long to, long from, long bytes);

    @Override
    public native int memcpyAsync(long to, long from, long bytes, long stream);

    @Override
    public int allocatePinned(long[] address, long bytes) {
        return cuMemHostAlloc(address, bytes, PORTABLE_AND_MAPPED);
    }

    @Override
    @Symbol("cuMemFreeHost")
    public native int hostFree(long address);

    @Override
    @Symbol("cuMemHostGetDevicePointer_v2")
    public native int hostGetDevicePointer(long[] address, long host, int flags);

    @Override
    public native int ipcGetMemHandle(byte[] handle, long base);

    @Override
    public int ipcOpenMemHandle(long[] base, byte[] handle) {
        return cuIpcOpenMemHandle_v2(base, new IpcHandle(handle), LAZY_ENABLE_PEER_ACCESS);
    }

    @Override
    public native int ipcCloseMemHandle(long base);

    @Override
    public native int moduleLoadData(long[] module, byte[] code);

    @Override
    public native int moduleUnload(long module);

    @Override
    public native int moduleGetFunction(long[] function, long module, String name);

    @Override
    public native int funcGetAttribute(int[] value, int attribute, long function);

    @Override
    public int allowShared(long function, int bytes) {
        return cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
    }

    @Override
    public native int launchKernel(
            long kernel,
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

    @Override
    public native int threadExchangeStreamCaptureMode(int[] mode);

    @Override
    public native int streamCreate(long[] stream, int flags);

    @Override
    @Symbol("cuStreamDestroy_v2")
    public native int streamDestroy(long stream);

    @Override
    public native int streamSynchronize(long stream);

    @Override
    public native int streamWaitEvent(long stream, long event, int flags);

    @Override
    public native int streamIsCapturing(long stream, int[] status);

    @Override
    @Symbol("cuStreamBeginCapture_v2")
    public native int streamBeginCapture(long stream, int mode);

    @Override
    public native int streamEndCapture(long stream, long[] graph);

    @Override
    public native int graphInstantiateWithFlags(long[] executable, long graph, long flags);

    @Override
    public native int graphLaunch(long executable, long stream);

    @Override
    public native int graphExecDestroy(long executable);

    @Override
    public native int graphDestroy(long graph);

    @Override
    public native int eventCreate(long[] event, int flags);

    @Override
    public native int eventRecord(long event, long stream);

    @Override
    public native int eventQuery(long event);

    @Override
    public native int eventElapsedTime(float[] milliseconds, long from, long to);

    @Override
    @Symbol("cuEventDestroy_v2")
    public native int eventDestroy(long event);

    /** Text at the address of a driver's string, or empty. */
    static String text(long address) {
        return address == 0 ? "" : new Pointer(address).getString(0);
    }
}
