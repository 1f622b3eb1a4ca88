package org.ep4j.engine.hip;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.driver.DriverErrors;
import org.ep4j.engine.driver.GpuDriver;
import org.ep4j.engine.memory.LoadFailure;
import org.ep4j.engine.memory.NativeMethods;

/**
 * The calls of the HIP runtime that ep4j makes, with the names and argument orders of {@code hip_runtime_api.h}. Handles and
 * device addresses are {@code long}; results are {@code hipError_t}. ROCm 5.7 or newer. Where HIP has two layouts of a
 * structure, both are here; the numbers of attributes are the same from ROCm 5 to 7.
 */
@SuppressWarnings("checkstyle:MethodName")
final class HipRuntime implements GpuDriver {
    /** {@code hipDeviceAttributeMultiprocessorCount}: compute units. */
    static final int MULTIPROCESSOR_COUNT = 63;

    /** {@code hipDeviceAttributeMaxSharedMemoryPerBlock}: bytes of LDS. */
    static final int MAX_SHARED_MEMORY_PER_BLOCK = 74;

    /** {@code hipDeviceAttributeWarpSize}. */
    static final int WARP_SIZE = 87;

    /** {@code hipDeviceAttributeMemoryPoolsSupported}. */
    static final int MEMORY_POOLS_SUPPORTED = 88;

    /** {@code HSA_AMD_LINK_INFO_TYPE_XGMI}. */
    static final int XGMI = 4;

    private static final int FINE_GRAINED = 1;
    private static final int UNCACHED = 3;
    private static final int LAZY_ENABLE_PEER_ACCESS = 1;
    private static final int PORTABLE_MAPPED_COHERENT = 1 | 2 | 0x40000000;
    private static final int NON_BLOCKING = 1;
    private static final int DISABLE_TIMING = 2;
    private static final int CAPTURE_MODE_THREAD_LOCAL = 1;
    private static final int COPY_DEFAULT = 4;
    private static final int REGISTERS = 4;

    private final NativeLibrary library;

    /** What was current before, of the calling thread: HIP has one current GPU a thread, and no stack of them. */
    private final ThreadLocal<Outer> outer = ThreadLocal.withInitial(Outer::new);

    private static final class Outer {
        private int[] ordinals = new int[4];
        private int depth;
        private final int[] current = new int[1];
    }

    private HipRuntime(NativeLibrary library) {
        this.library = library;
        NativeMethods.bind(HipRuntime.class, library.getFile().toString());
    }

    /**
     * Loads the runtime. A second load costs nothing.
     *
     * @throws EpUnavailableException when this machine has none
     */
    static HipRuntime load() {
        return load(System.getenv());
    }

    static HipRuntime load(Map<String, String> environment) {
        Path found = HipInstallation.find(environment, Path.of("/")).runtime();
        NativeMethods.require();
        try {
            return new HipRuntime(NativeLibrary.getInstance(found.toString()));
        } catch (LinkageError e) {
            String reason = LoadFailure.reason(e);
            throw new EpUnavailableException(
                    "AMD's HIP runtime " + found + " cannot be loaded (" + reason + "); install a complete ROCm "
                            + HipVersion.OLDEST + " or newer, or set " + HipInstallation.VARIABLE
                            + " to another libamdhip64.so",
                    e);
        }
    }

    native String hipGetErrorName(int result);

    native String hipGetErrorString(int result);

    native int hipInit(int flags);

    native int hipRuntimeGetVersion(int[] version);

    native int hipGetDeviceCount(int[] count);

    native int hipDeviceGet(int[] device, int ordinal);

    native int hipGetDevice(int[] ordinal);

    native int hipSetDevice(int ordinal);

    native int hipDeviceGetName(byte[] name, int length, int device);

    native int hipDeviceGetAttribute(int[] value, int attribute, int device);

    native int hipDeviceGetPCIBusId(byte[] busId, int length, int device);

    native int hipDeviceCanAccessPeer(int[] can, int device, int peer);

    native int hipDeviceGetP2PAttribute(int[] value, int attribute, int device, int peer);

    native int hipExtGetLinkTypeAndHopCount(int device, int peer, int[] type, int[] hops);

    native int hipDeviceEnablePeerAccess(int peer, int flags);

    native int hipMalloc(long[] address, long bytes);

    native int hipExtMallocWithFlags(long[] address, long bytes, int flags);

    native int hipFree(long address);

    native int hipMallocAsync(long[] address, long bytes, long stream);

    native int hipFreeAsync(long address, long stream);

    native int hipMemGetInfo(long[] free, long[] total);

    native int hipMemGetAddressRange(long[] base, long[] bytes, long address);

    native int hipMemsetD8Async(long address, byte value, long count, long stream);

    native int hipMemcpyHtoD(long to, long from, long bytes);

    native int hipMemcpyDtoH(long to, long from, long bytes);

    native int hipMemcpyAsync(long to, long from, long bytes, int kind, long stream);

    native int hipHostMalloc(long[] address, long bytes, int flags);

    native int hipHostFree(long address);

    native int hipHostGetDevicePointer(long[] address, long host, int flags);

    native int hipIpcGetMemHandle(byte[] handle, long address);

    native int hipIpcOpenMemHandle(long[] address, IpcHandle.ByValue handle, int flags);

    native int hipIpcCloseMemHandle(long address);

    native int hipModuleLoadData(long[] module, byte[] image);

    native int hipModuleUnload(long module);

    native int hipModuleGetFunction(long[] function, long module, String name);

    native int hipFuncGetAttribute(int[] value, int attribute, long function);

    native int hipModuleLaunchKernel(
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

    native int hipThreadExchangeStreamCaptureMode(int[] mode);

    native int hipStreamCreateWithFlags(long[] stream, int flags);

    native int hipStreamDestroy(long stream);

    native int hipStreamSynchronize(long stream);

    native int hipStreamWaitEvent(long stream, long event, int flags);

    native int hipStreamIsCapturing(long stream, int[] status);

    native int hipStreamBeginCapture(long stream, int mode);

    native int hipStreamEndCapture(long stream, long[] graph);

    native int hipGraphInstantiateWithFlags(long[] executable, long graph, long flags);

    native int hipGraphLaunch(long executable, long stream);

    native int hipGraphExecDestroy(long executable);

    native int hipGraphDestroy(long graph);

    native int hipEventCreateWithFlags(long[] event, int flags);

    native int hipEventRecord(long event, long stream);

    native int hipEventQuery(long event);

    native int hipEventSynchronize(long event);

    native int hipEventElapsedTime(float[] milliseconds, long from, long to);

    native int hipEventDestroy(long event);

    @Override
    public String type() {
        return "hip";
    }

    @Override
    public String describe(int result) {
        return hipGetErrorName(result) + " (" + result + ", " + hipGetErrorString(result) + ")";
    }

    @Override
    public String visibleVariable() {
        return "HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES";
    }

    @Override
    public String peerTool() {
        return "rocm-smi --showtopo";
    }

    @Override
    public boolean freesWithContext() {
        return false;
    }

    /** Version of the runtime. */
    HipVersion version() {
        int[] version = new int[1];
        new DriverErrors(this).check(hipRuntimeGetVersion(version), "hipRuntimeGetVersion");
        return HipVersion.of(version[0]);
    }

    /**
     * {@code gfx942:sramecc+:xnack-}.
     *
     * @throws EpException when the runtime tells something else
     */
    String architecture(int device) {
        return HipProperties.architecture(library, device);
    }

    /** What gives memory out as dma-buf. */
    Optional<HipDmaBuf> dmaBuf() {
        return HipDmaBuf.of(library);
    }

    @Override
    public int init() {
        return hipInit(0);
    }

    @Override
    public int deviceCount(int[] count) {
        return hipGetDeviceCount(count);
    }

    @Override
    public int device(int[] device, int ordinal) {
        return hipDeviceGet(device, ordinal);
    }

    @Override
    public int attribute(int[] value, int attribute, int device) {
        return hipDeviceGetAttribute(value, attribute, device);
    }

    @Override
    public int busId(byte[] text, int length, int device) {
        return hipDeviceGetPCIBusId(text, length, device);
    }

    /** HIP has one context a GPU, which begins by itself and never ends; here it is named by the number of the GPU, plus 1. */
    @Override
    public int retain(long[] context, int device) {
        context[0] = device + 1L;
        return 0;
    }

    @Override
    public int release(int device) {
        return 0;
    }

    @Override
    public int enter(long context) {
        Outer mine = outer.get();
        int result = hipGetDevice(mine.current);
        if (result == 0) {
            result = hipSetDevice(ordinal(context));
        }
        if (result == 0) {
            if (mine.depth == mine.ordinals.length) {
                mine.ordinals = Arrays.copyOf(mine.ordinals, 2 * mine.depth);
            }
            mine.ordinals[mine.depth++] = mine.current[0];
        }
        return result;
    }

    @Override
    public int leave() {
        Outer mine = outer.get();
        return hipSetDevice(mine.ordinals[--mine.depth]);
    }

    private static int ordinal(long context) {
        return Math.toIntExact(context - 1);
    }

    @Override
    public int enablePeer(long context) {
        return hipDeviceEnablePeerAccess(ordinal(context), 0);
    }

    @Override
    public int allocate(long[] address, long bytes) {
        return hipMalloc(address, bytes);
    }

    /**
     * Uncached, so that no cache of the owner hides what peers write over xGMI; fine-grained where HIP shows other GPUs and
     * none of them is joined by xGMI, since reading uncached memory is slow and PCIe does not need it.
     */
    @Override
    public int allocateShared(long[] address, long bytes) {
        int[] current = new int[1];
        int[] count = new int[1];
        int result = hipGetDevice(current);
        if (result == 0) {
            result = hipGetDeviceCount(count);
        }
        return result != 0
                ? result
                : hipExtMallocWithFlags(address, bytes, onlyPci(current[0], count[0]) ? FINE_GRAINED : UNCACHED);
    }

    /** Whether {@link #allocateShared} gives memory that no cache holds. */
    boolean sharesUncached(int device) {
        int[] count = new int[1];
        return hipGetDeviceCount(count) == 0 && !onlyPci(device, count[0]);
    }

    private boolean onlyPci(int device, int count) {
        int[] type = new int[1];
        int[] hops = new int[1];
        for (int other = 0; other < count; other++) {
            if (other != device && (hipExtGetLinkTypeAndHopCount(device, other, type, hops) != 0 || type[0] == XGMI)) {
                return false;
            }
        }
        return count > 1;
    }

    @Override
    public int free(long address) {
        return hipFree(address);
    }

    @Override
    public int allocateQueued(long[] address, long bytes, long stream) {
        return hipMallocAsync(address, bytes, stream);
    }

    @Override
    public int freeQueued(long address, long stream) {
        return hipFreeAsync(address, stream);
    }

    @Override
    public int memoryInfo(long[] free, long[] total) {
        return hipMemGetInfo(free, total);
    }

    @Override
    public int addressRange(long[] base, long[] bytes, long address) {
        return hipMemGetAddressRange(base, bytes, address);
    }

    @Override
    public int zero(long address, long bytes, long stream) {
        return hipMemsetD8Async(address, (byte) 0, bytes, stream);
    }

    @Override
    public int upload(long to, long from, long bytes) {
        return hipMemcpyHtoD(to, from, bytes);
    }

    @Override
    public int download(long to, long from, long bytes) {
        return hipMemcpyDtoH(to, from, bytes);
    }

    @Override
    public int copy(long to, long from, long bytes, long stream) {
        return hipMemcpyAsync(to, from, bytes, COPY_DEFAULT, stream);
    }

    @Override
    public int allocatePinned(long[] address, long bytes) {
        return hipHostMalloc(address, bytes, PORTABLE_MAPPED_COHERENT);
    }

    @Override
    public int freePinned(long address) {
        return hipHostFree(address);
    }

    @Override
    public int mappedAddress(long[] address, long host) {
        return hipHostGetDevicePointer(address, host, 0);
    }

    @Override
    public int exportMemory(byte[] handle, long base) {
        return hipIpcGetMemHandle(handle, base);
    }

    @Override
    public int openMemory(long[] base, byte[] handle) {
        var opened = new IpcHandle.ByValue(handle);
        int result = hipIpcOpenMemHandle(base, opened, LAZY_ENABLE_PEER_ACCESS);
        // The one flag that there is has the value 0 in older headers of ROCm 5, and other values are refused.
        return result == DriverErrors.INVALID_VALUE ? hipIpcOpenMemHandle(base, opened, 0) : result;
    }

    @Override
    public int closeMemory(long base) {
        return hipIpcCloseMemHandle(base);
    }

    @Override
    public int loadModule(long[] module, byte[] code) {
        return hipModuleLoadData(module, code);
    }

    @Override
    public int unloadModule(long module) {
        return hipModuleUnload(module);
    }

    @Override
    public int function(long[] function, long module, String name) {
        return hipModuleGetFunction(function, module, name);
    }

    @Override
    public int loadFunction(long function) {
        return hipFuncGetAttribute(new int[1], REGISTERS, function);
    }

    /** A block may have all of the LDS without being allowed to. */
    @Override
    public int allowShared(long function, int bytes) {
        return 0;
    }

    @Override
    public int launch(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters) {
        return hipModuleLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, sharedBytes, stream, parameters, 0);
    }

    @Override
    public int exchangeCaptureMode(int[] mode) {
        return hipThreadExchangeStreamCaptureMode(mode);
    }

    @Override
    public int createStream(long[] stream) {
        return hipStreamCreateWithFlags(stream, NON_BLOCKING);
    }

    @Override
    public int destroyStream(long stream) {
        return hipStreamDestroy(stream);
    }

    @Override
    public int synchronize(long stream) {
        return hipStreamSynchronize(stream);
    }

    @Override
    public int await(long stream, long event) {
        return hipStreamWaitEvent(stream, event, 0);
    }

    @Override
    public int isCapturing(long stream, int[] status) {
        return hipStreamIsCapturing(stream, status);
    }

    @Override
    public int beginCapture(long stream) {
        return hipStreamBeginCapture(stream, CAPTURE_MODE_THREAD_LOCAL);
    }

    @Override
    public int endCapture(long stream, long[] graph) {
        return hipStreamEndCapture(stream, graph);
    }

    @Override
    public int instantiate(long[] executable, long graph) {
        return hipGraphInstantiateWithFlags(executable, graph, 0);
    }

    @Override
    public int launchGraph(long executable, long stream) {
        return hipGraphLaunch(executable, stream);
    }

    @Override
    public int destroyExecutable(long executable) {
        return hipGraphExecDestroy(executable);
    }

    @Override
    public int destroyGraph(long graph) {
        return hipGraphDestroy(graph);
    }

    @Override
    public int createEvent(long[] event, boolean timed) {
        return hipEventCreateWithFlags(event, timed ? 0 : DISABLE_TIMING);
    }

    @Override
    public int record(long event, long stream) {
        return hipEventRecord(event, stream);
    }

    @Override
    public int query(long event) {
        return hipEventQuery(event);
    }

    @Override
    public int synchronizeEvent(long event) {
        return hipEventSynchronize(event);
    }

    @Override
    public int elapsed(float[] milliseconds, long from, long to) {
        return hipEventElapsedTime(milliseconds, from, to);
    }

    @Override
    public int destroyEvent(long event) {
        return hipEventDestroy(event);
    }

    /** {@code hipIpcMemHandle_t}: 64 opaque bytes. JNA makes it and reads its field by reflection, so all is public. */
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
}
