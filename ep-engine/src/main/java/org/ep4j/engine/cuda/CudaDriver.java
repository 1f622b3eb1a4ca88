package org.ep4j.engine.cuda;

import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import java.util.Map;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.driver.DriverErrors;
import org.ep4j.engine.driver.GpuDriver;
import org.ep4j.engine.memory.LoadFailure;
import org.ep4j.engine.memory.NativeMethods;

/**
 * The calls of the CUDA driver that ep4j makes, with the names and argument orders of {@code cuda.h}. Handles and device
 * addresses are {@code long}; results are {@code CUresult}, which {@link DriverErrors} understands. Driver 11.8 (520) or newer.
 */
@SuppressWarnings("checkstyle:MethodName")
final class CudaDriver implements GpuDriver {
    /** Name under which every driver installs itself. */
    static final String LIBRARY = "libcuda.so.1";

    /** Environment variable that names another file to load as the driver. */
    static final String VARIABLE = "EP_CUDA_DRIVER";

    private static final int LAZY_ENABLE_PEER_ACCESS = 1;
    private static final int PORTABLE_AND_MAPPED = 1 | 2;
    private static final int NON_BLOCKING = 1;
    private static final int DISABLE_TIMING = 2;
    private static final int CAPTURE_MODE_THREAD_LOCAL = 1;
    private static final int REGISTERS = 4;
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
            String reason = LoadFailure.reason(e);
            throw new EpUnavailableException(
                    named.isBlank()
                            ? "the NVIDIA driver's " + LIBRARY + " cannot be loaded (" + reason
                                    + "); install the NVIDIA driver, and start containers with the NVIDIA runtime"
                            : VARIABLE + " is " + named + ", which cannot be loaded (" + reason
                                    + "); correct or unset this variable",
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

    @Override
    public int init() {
        return cuInit(0);
    }

    @Override
    public int deviceCount(int[] count) {
        return cuDeviceGetCount(count);
    }

    @Override
    public int device(int[] device, int ordinal) {
        return cuDeviceGet(device, ordinal);
    }

    @Override
    public int attribute(int[] value, int attribute, int device) {
        return cuDeviceGetAttribute(value, attribute, device);
    }

    @Override
    public int busId(byte[] text, int length, int device) {
        return cuDeviceGetPCIBusId(text, length, device);
    }

    @Override
    public int retain(long[] context, int device) {
        return cuDevicePrimaryCtxRetain(context, device);
    }

    @Override
    public int release(int device) {
        return cuDevicePrimaryCtxRelease_v2(device);
    }

    @Override
    public int enter(long context) {
        return cuCtxPushCurrent_v2(context);
    }

    @Override
    public int leave() {
        return cuCtxPopCurrent_v2(0);
    }

    @Override
    public int enablePeer(long context) {
        return cuCtxEnablePeerAccess(context, 0);
    }

    @Override
    public int allocate(long[] address, long bytes) {
        return cuMemAlloc_v2(address, bytes);
    }

    @Override
    public int allocateShared(long[] address, long bytes) {
        return cuMemAlloc_v2(address, bytes);
    }

    @Override
    public int free(long address) {
        return cuMemFree_v2(address);
    }

    @Override
    public int allocateQueued(long[] address, long bytes, long stream) {
        return cuMemAllocAsync(address, bytes, stream);
    }

    @Override
    public int freeQueued(long address, long stream) {
        return cuMemFreeAsync(address, stream);
    }

    @Override
    public int memoryInfo(long[] free, long[] total) {
        return cuMemGetInfo_v2(free, total);
    }

    @Override
    public int addressRange(long[] base, long[] bytes, long address) {
        return cuMemGetAddressRange_v2(base, bytes, address);
    }

    @Override
    public int zero(long address, long bytes, long stream) {
        return cuMemsetD8Async(address, (byte) 0, bytes, stream);
    }

    @Override
    public int upload(long to, long from, long bytes) {
        return cuMemcpyHtoD_v2(to, from, bytes);
    }

    @Override
    public int download(long to, long from, long bytes) {
        return cuMemcpyDtoH_v2(to, from, bytes);
    }

    @Override
    public int copy(long to, long from, long bytes, long stream) {
        return cuMemcpyAsync(to, from, bytes, stream);
    }

    @Override
    public int allocatePinned(long[] address, long bytes) {
        return cuMemHostAlloc(address, bytes, PORTABLE_AND_MAPPED);
    }

    @Override
    public int freePinned(long address) {
        return cuMemFreeHost(address);
    }

    @Override
    public int mappedAddress(long[] address, long host) {
        return cuMemHostGetDevicePointer_v2(address, host, 0);
    }

    @Override
    public int exportMemory(byte[] handle, long base) {
        return cuIpcGetMemHandle(handle, base);
    }

    @Override
    public int openMemory(long[] base, byte[] handle) {
        return cuIpcOpenMemHandle_v2(base, new IpcHandle.ByValue(handle), LAZY_ENABLE_PEER_ACCESS);
    }

    @Override
    public int closeMemory(long base) {
        return cuIpcCloseMemHandle(base);
    }

    @Override
    public int loadModule(long[] module, byte[] code) {
        return cuModuleLoadData(module, code);
    }

    @Override
    public int unloadModule(long module) {
        return cuModuleUnload(module);
    }

    @Override
    public int function(long[] function, long module, String name) {
        return cuModuleGetFunction(function, module, name);
    }

    @Override
    public int loadFunction(long function) {
        return cuFuncGetAttribute(new int[1], REGISTERS, function);
    }

    @Override
    public int allowShared(long function, int bytes) {
        return cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
    }

    @Override
    public int launch(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters) {
        return cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, sharedBytes, stream, parameters, 0);
    }

    @Override
    public int exchangeCaptureMode(int[] mode) {
        return cuThreadExchangeStreamCaptureMode(mode);
    }

    @Override
    public int createStream(long[] stream) {
        return cuStreamCreate(stream, NON_BLOCKING);
    }

    @Override
    public int destroyStream(long stream) {
        return cuStreamDestroy_v2(stream);
    }

    @Override
    public int synchronize(long stream) {
        return cuStreamSynchronize(stream);
    }

    @Override
    public int await(long stream, long event) {
        return cuStreamWaitEvent(stream, event, 0);
    }

    @Override
    public int isCapturing(long stream, int[] status) {
        return cuStreamIsCapturing(stream, status);
    }

    @Override
    public int beginCapture(long stream) {
        return cuStreamBeginCapture_v2(stream, CAPTURE_MODE_THREAD_LOCAL);
    }

    @Override
    public int endCapture(long stream, long[] graph) {
        return cuStreamEndCapture(stream, graph);
    }

    @Override
    public int instantiate(long[] executable, long graph) {
        return cuGraphInstantiateWithFlags(executable, graph, 0);
    }

    @Override
    public int launchGraph(long executable, long stream) {
        return cuGraphLaunch(executable, stream);
    }

    @Override
    public int destroyExecutable(long executable) {
        return cuGraphExecDestroy(executable);
    }

    @Override
    public int destroyGraph(long graph) {
        return cuGraphDestroy(graph);
    }

    @Override
    public int createEvent(long[] event, boolean timed) {
        return cuEventCreate(event, timed ? 0 : DISABLE_TIMING);
    }

    @Override
    public int record(long event, long stream) {
        return cuEventRecord(event, stream);
    }

    @Override
    public int query(long event) {
        return cuEventQuery(event);
    }

    @Override
    public int synchronizeEvent(long event) {
        return cuEventSynchronize(event);
    }

    @Override
    public int elapsed(float[] milliseconds, long from, long to) {
        return cuEventElapsedTime(milliseconds, from, to);
    }

    @Override
    public int destroyEvent(long event) {
        return cuEventDestroy_v2(event);
    }

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
