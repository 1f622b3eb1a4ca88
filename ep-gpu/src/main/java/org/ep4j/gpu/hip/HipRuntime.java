package org.ep4j.gpu.hip;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.DriverErrors;
import org.ep4j.gpu.driver.GpuDriver;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.NativeMethods.Symbol;

/**
 * The calls of the HIP runtime that ep4j makes, with the argument orders of {@code hip_runtime_api.h}; {@link Symbol} gives the
 * name there of a method that {@link GpuDriver} names. Handles and device addresses are {@code long}; results are
 * {@code hipError_t}. ROCm 5.7 or newer. Where HIP has two layouts of a structure, both are here; the numbers of attributes are
 * the same from ROCm 5 to 7.
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
    private static final int COPY_DEFAULT = 4;

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
            String reason = NativeMethods.reason(e);
            throw new EpUnavailableException(
                    "AMD's HIP runtime " + found + " cannot be loaded (" + reason + "); install a complete ROCm "
                            + HipVersion.OLDEST + " or newer, or set " + HipInstallation.VARIABLE
                            + " to another libamdhip64.so",
                    e);
        }
    }

    native String hipGetErrorName(int result);

    native String hipGetErrorString(int result);

    native int hipRuntimeGetVersion(int[] version);

    native int hipGetDevice(int[] ordinal);

    native int hipSetDevice(int ordinal);

    native int hipDeviceCanAccessPeer(int[] can, int device, int peer);

    native int hipExtGetLinkTypeAndHopCount(int device, int peer, int[] type, int[] hops);

    native int hipDeviceEnablePeerAccess(int peer, int flags);

    native int hipExtMallocWithFlags(long[] address, long bytes, int flags);

    native int hipMemcpyAsync(long to, long from, long bytes, int kind, long stream);

    native int hipHostMalloc(long[] address, long bytes, int flags);

    native int hipIpcOpenMemHandle(long[] address, IpcHandle handle, int flags);

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

    HipVersion version() {
        return HipVersion.of(new DriverErrors(this).read("hipRuntimeGetVersion", this::hipRuntimeGetVersion));
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
    @Symbol("hipInit")
    public native int init(int flags);

    @Override
    @Symbol("hipGetDeviceCount")
    public native int deviceCount(int[] count);

    @Override
    @Symbol("hipDeviceGet")
    public native int device(int[] device, int ordinal);

    @Override
    @Symbol("hipDeviceGetAttribute")
    public native int attribute(int[] value, int attribute, int device);

    @Override
    @Symbol("hipDeviceGetName")
    public native int name(byte[] text, int length, int device);

    @Override
    @Symbol("hipDeviceGetPCIBusId")
    public native int busId(byte[] text, int length, int device);

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
    @Symbol("hipMalloc")
    public native int allocate(long[] address, long bytes);

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
            result = deviceCount(count);
        }
        return result != 0
                ? result
                : hipExtMallocWithFlags(address, bytes, onlyPci(current[0], count[0]) ? FINE_GRAINED : UNCACHED);
    }

    /** Whether {@link #allocateShared} gives memory that no cache holds. */
    boolean sharesUncached(int device) {
        int[] count = new int[1];
        return deviceCount(count) == 0 && !onlyPci(device, count[0]);
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
    @Symbol("hipFree")
    public native int free(long address);

    @Override
    @Symbol("hipMallocAsync")
    public native int allocateQueued(long[] address, long bytes, long stream);

    @Override
    @Symbol("hipFreeAsync")
    public native int freeQueued(long address, long stream);

    @Override
    @Symbol("hipMemGetInfo")
    public native int memoryInfo(long[] free, long[] total);

    @Override
    @Symbol("hipMemGetAddressRange")
    public native int addressRange(long[] base, long[] bytes, long address);

    @Override
    @Symbol("hipMemsetD8Async")
    public native int fill(long address, byte value, long bytes, long stream);

    @Override
    @Symbol("hipMemcpyHtoD")
    public native int upload(long to, long from, long bytes);

    @Override
    @Symbol("hipMemcpyDtoH")
    public native int download(long to, long from, long bytes);

    @Override
    public int copy(long to, long from, long bytes, long stream) {
        return hipMemcpyAsync(to, from, bytes, COPY_DEFAULT, stream);
    }

    @Override
    public int allocatePinned(long[] address, long bytes) {
        return hipHostMalloc(address, bytes, PORTABLE_MAPPED_COHERENT);
    }

    @Override
    @Symbol("hipHostFree")
    public native int freePinned(long address);

    @Override
    @Symbol("hipHostGetDevicePointer")
    public native int mappedAddress(long[] address, long host, int flags);

    @Override
    @Symbol("hipIpcGetMemHandle")
    public native int exportMemory(byte[] handle, long base);

    @Override
    public int openMemory(long[] base, byte[] handle) {
        var opened = new IpcHandle(handle);
        int result = hipIpcOpenMemHandle(base, opened, LAZY_ENABLE_PEER_ACCESS);
        // The one flag that there is has the value 0 in older headers of ROCm 5, and other values are refused.
        return result == DriverErrors.INVALID_VALUE ? hipIpcOpenMemHandle(base, opened, 0) : result;
    }

    @Override
    @Symbol("hipIpcCloseMemHandle")
    public native int closeMemory(long base);

    @Override
    @Symbol("hipModuleLoadData")
    public native int loadModule(long[] module, byte[] code);

    @Override
    @Symbol("hipModuleUnload")
    public native int unloadModule(long module);

    @Override
    @Symbol("hipModuleGetFunction")
    public native int function(long[] function, long module, String name);

    @Override
    @Symbol("hipFuncGetAttribute")
    public native int functionAttribute(int[] value, int attribute, long function);

    /** A block may have all of the LDS without being allowed to. */
    @Override
    public int allowShared(long function, int bytes) {
        return 0;
    }

    @Override
    @Symbol("hipModuleLaunchKernel")
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
    @Symbol("hipThreadExchangeStreamCaptureMode")
    public native int exchangeCaptureMode(int[] mode);

    @Override
    @Symbol("hipStreamCreateWithFlags")
    public native int createStream(long[] stream, int flags);

    @Override
    @Symbol("hipStreamDestroy")
    public native int destroyStream(long stream);

    @Override
    @Symbol("hipStreamSynchronize")
    public native int synchronize(long stream);

    @Override
    @Symbol("hipStreamWaitEvent")
    public native int await(long stream, long event, int flags);

    @Override
    @Symbol("hipStreamIsCapturing")
    public native int isCapturing(long stream, int[] status);

    @Override
    @Symbol("hipStreamBeginCapture")
    public native int beginCapture(long stream, int mode);

    @Override
    @Symbol("hipStreamEndCapture")
    public native int endCapture(long stream, long[] graph);

    @Override
    @Symbol("hipGraphInstantiateWithFlags")
    public native int instantiate(long[] executable, long graph, long flags);

    @Override
    @Symbol("hipGraphLaunch")
    public native int launchGraph(long executable, long stream);

    @Override
    @Symbol("hipGraphExecDestroy")
    public native int destroyExecutable(long executable);

    @Override
    @Symbol("hipGraphDestroy")
    public native int destroyGraph(long graph);

    @Override
    @Symbol("hipEventCreateWithFlags")
    public native int createEvent(long[] event, int flags);

    @Override
    @Symbol("hipEventRecord")
    public native int record(long event, long stream);

    @Override
    @Symbol("hipEventQuery")
    public native int query(long event);

    @Override
    @Symbol("hipEventElapsedTime")
    public native int elapsed(float[] milliseconds, long from, long to);

    @Override
    @Symbol("hipEventDestroy")
    public native int destroyEvent(long event);

    /**
     * {@code hipDeviceProp_t} of {@code hip_runtime_api.h}, of which only the architecture's name is needed: no attribute tells it.
     * ROCm 6 changed the structure and gave the call that fills the new one another name.
     */
    record HipProperties(String function, int bytes, int architectureAt) {
        /** Since ROCm 6: {@code hipDeviceProp_tR0600}. */
        static final HipProperties R0600 = new HipProperties("hipGetDevicePropertiesR0600", 1472, 1160);

        /** ROCm 5. */
        static final HipProperties R0000 = new HipProperties("hipGetDeviceProperties", 792, 396);

        private static final int TEXT_BYTES = 256;

        /** A runtime that is newer than this may write more. */
        private static final int SPARE_BYTES = 4096;

        /** {@code gfx942:sramecc+:xnack-}. */
        static String architecture(NativeLibrary library, int device) {
            HipProperties layout = layout(library);
            try (Memory memory = new Memory(layout.bytes + SPARE_BYTES)) {
                memory.clear();
                int result = library.getFunction(layout.function).invokeInt(new Object[] {memory, device});
                byte[] text = memory.getByteArray(layout.architectureAt, TEXT_BYTES);
                String name = GpuDriver.text(text);
                if (result != 0 || !name.matches("gfx[0-9a-f]{3,}(:[a-z]+[+-])*")) {
                    throw new EpException(layout.function + " of hip:" + device + " gives " + result + " and \""
                            + name.replaceAll("[^ -~]", "?")
                            + "\", expected 0 and a name like gfx942:sramecc+:xnack-; see"
                            + " rocminfo");
                }
                return name;
            }
        }

        private static HipProperties layout(NativeLibrary library) {
            try {
                Function there = library.getFunction(R0600.function);
                return there.getName().isEmpty() ? R0000 : R0600;
            } catch (UnsatisfiedLinkError e) {
                return R0000;
            }
        }
    }
}
