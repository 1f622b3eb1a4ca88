package org.ep4j.gpu.cuda;

import com.sun.jna.Pointer;
import java.util.Map;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.DriverErrors;
import org.ep4j.gpu.driver.GpuDriver;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.NativeMethods.Symbol;

/**
 * The calls of the CUDA driver that ep4j makes, with the argument orders of {@code cuda.h}; {@link Symbol} gives the name there
 * of a method that {@link GpuDriver} names. Handles and device addresses are {@code long}; results are {@code CUresult}, which
 * {@link DriverErrors} understands. Driver 11.8 (520) or newer.
 */
@SuppressWarnings("checkstyle:MethodName")
final class CudaDriver implements GpuDriver {
    /** Name under which every driver installs itself. */
    static final String LIBRARY = "libcuda.so.1";

    /** Environment variable that names another file to load as the driver. */
    static final String VARIABLE = "EP_CUDA_DRIVER";

    /** {@code CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR}. */
    static final int COMPUTE_CAPABILITY_MAJOR = 75;

    /** {@code CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR}. */
    static final int COMPUTE_CAPABILITY_MINOR = 76;

    private static final int LAZY_ENABLE_PEER_ACCESS = 1;
    private static final int PORTABLE_AND_MAPPED = 1 | 2;
    private static final int MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;

    private CudaDriver(String library) {
        NativeMethods.bind(CudaDriver.class, library);
    }

    /**
     * Loads the driver. A second load costs nothing.
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

    /** {@code context}: where to say which it was, or 0. */
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
    @Symbol("cuInit")
    public native int init(int flags);

    @Override
    @Symbol("cuDeviceGetCount")
    public native int deviceCount(int[] count);

    @Override
    @Symbol("cuDeviceGet")
    public native int device(int[] device, int ordinal);

    @Override
    @Symbol("cuDeviceGetAttribute")
    public native int attribute(int[] value, int attribute, int device);

    @Override
    @Symbol("cuDeviceGetName")
    public native int name(byte[] text, int length, int device);

    @Override
    @Symbol("cuDeviceGetPCIBusId")
    public native int busId(byte[] text, int length, int device);

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
    @Symbol("cuMemAllocAsync")
    public native int allocateQueued(long[] address, long bytes, long stream);

    @Override
    @Symbol("cuMemFreeAsync")
    public native int freeQueued(long address, long stream);

    @Override
    @Symbol("cuMemGetInfo_v2")
    public native int memoryInfo(long[] free, long[] total);

    @Override
    @Symbol("cuMemGetAddressRange_v2")
    public native int addressRange(long[] base, long[] bytes, long address);

    @Override
    @Symbol("cuMemsetD8Async")
    public native int fill(long address, byte value, long bytes, long stream);

    @Override
    @Symbol("cuMemcpyHtoD_v2")
    public native int upload(long to, long from, long bytes);

    @Override
    @Symbol("cuMemcpyDtoH_v2")
    public native int download(long to, long from, long bytes);

    @Override
    @Symbol("cuMemcpyAsync")
    public native int copy(long to, long from, long bytes, long stream);

    @Override
    public int allocatePinned(long[] address, long bytes) {
        return cuMemHostAlloc(address, bytes, PORTABLE_AND_MAPPED);
    }

    @Override
    @Symbol("cuMemFreeHost")
    public native int freePinned(long address);

    @Override
    @Symbol("cuMemHostGetDevicePointer_v2")
    public native int mappedAddress(long[] address, long host, int flags);

    @Override
    @Symbol("cuIpcGetMemHandle")
    public native int exportMemory(byte[] handle, long base);

    @Override
    public int openMemory(long[] base, byte[] handle) {
        return cuIpcOpenMemHandle_v2(base, new IpcHandle(handle), LAZY_ENABLE_PEER_ACCESS);
    }

    @Override
    @Symbol("cuIpcCloseMemHandle")
    public native int closeMemory(long base);

    @Override
    @Symbol("cuModuleLoadData")
    public native int loadModule(long[] module, byte[] code);

    @Override
    @Symbol("cuModuleUnload")
    public native int unloadModule(long module);

    @Override
    @Symbol("cuModuleGetFunction")
    public native int function(long[] function, long module, String name);

    @Override
    @Symbol("cuFuncGetAttribute")
    public native int functionAttribute(int[] value, int attribute, long function);

    @Override
    public int allowShared(long function, int bytes) {
        return cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
    }

    @Override
    @Symbol("cuLaunchKernel")
    public native int launch(
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
    @Symbol("cuThreadExchangeStreamCaptureMode")
    public native int exchangeCaptureMode(int[] mode);

    @Override
    @Symbol("cuStreamCreate")
    public native int createStream(long[] stream, int flags);

    @Override
    @Symbol("cuStreamDestroy_v2")
    public native int destroyStream(long stream);

    @Override
    @Symbol("cuStreamSynchronize")
    public native int synchronize(long stream);

    @Override
    @Symbol("cuStreamWaitEvent")
    public native int await(long stream, long event, int flags);

    @Override
    @Symbol("cuStreamIsCapturing")
    public native int isCapturing(long stream, int[] status);

    @Override
    @Symbol("cuStreamBeginCapture_v2")
    public native int beginCapture(long stream, int mode);

    @Override
    @Symbol("cuStreamEndCapture")
    public native int endCapture(long stream, long[] graph);

    @Override
    @Symbol("cuGraphInstantiateWithFlags")
    public native int instantiate(long[] executable, long graph, long flags);

    @Override
    @Symbol("cuGraphLaunch")
    public native int launchGraph(long executable, long stream);

    @Override
    @Symbol("cuGraphExecDestroy")
    public native int destroyExecutable(long executable);

    @Override
    @Symbol("cuGraphDestroy")
    public native int destroyGraph(long graph);

    @Override
    @Symbol("cuEventCreate")
    public native int createEvent(long[] event, int flags);

    @Override
    @Symbol("cuEventRecord")
    public native int record(long event, long stream);

    @Override
    @Symbol("cuEventQuery")
    public native int query(long event);

    @Override
    @Symbol("cuEventElapsedTime")
    public native int elapsed(float[] milliseconds, long from, long to);

    @Override
    @Symbol("cuEventDestroy_v2")
    public native int destroyEvent(long event);

    /** Text at the address of a driver's string, or empty. */
    static String text(long address) {
        return address == 0 ? "" : new Pointer(address).getString(0);
    }
}
