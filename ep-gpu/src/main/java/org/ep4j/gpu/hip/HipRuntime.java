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
import org.ep4j.gpu.hip.HipInstallation.HipVersion;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.NativeMethods.Prefix;
import org.ep4j.transport.memory.NativeMethods.Symbol;

/**
 * The calls of the HIP runtime that ep4j makes, with the argument orders of {@code hip_runtime_api.h}. Handles and device addresses are
 * {@code long}; results are {@code hipError_t}. ROCm 5.7 or newer. Where HIP has two layouts of a structure, both are here; the numbers of
 * attributes are the same from ROCm 5 to 7.
 */
@Prefix("hip")
@SuppressWarnings("checkstyle:MethodName")
final class HipRuntime implements GpuDriver {
    // Names of constants are those of hip_runtime_api.h and hsa_ext_amd.h, without their prefixes.
    static final int MULTIPROCESSOR_COUNT = 63;
    static final int MAX_SHARED_MEMORY_PER_BLOCK = 74;
    static final int WARP_SIZE = 87;
    static final int MEMORY_POOLS_SUPPORTED = 88;
    static final int XGMI = 4;
    /** Room after the properties, since a newer runtime may write more. */
    private static final int SPARE_BYTES = 4096;

    private static final int FINE_GRAINED = 1;
    private static final int UNCACHED = 3;
    private static final int LAZY_ENABLE_PEER_ACCESS = 1;
    private static final int PORTABLE_MAPPED_COHERENT = 1 | 2 | 0x40000000;
    private static final int COPY_DEFAULT = 4;

    private final NativeLibrary library;

    /** GPUs that were current before in the calling thread: HIP has one current GPU for each thread, and no stack of them. */
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

    /** Loads the runtime, or throws EpUnavailableException without one. A second load costs nothing. */
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

    /** Returns {@code gfx942:sramecc+:xnack-}, or throws if the runtime reports something else. */
    String architecture(int device) {
        HipProperties layout = HipProperties.of(library);
        try (Memory memory = new Memory(layout.bytes + SPARE_BYTES)) {
            memory.clear();
            int result = library.getFunction(layout.function).invokeInt(new Object[] {memory, device});
            String name = GpuDriver.text(memory.getByteArray(layout.architectureAt, 256));
            if (result != 0 || !name.matches("gfx[0-9a-f]{3,}(:[a-z]+[+-])*")) {
                throw new EpException(layout.function + " of hip:" + device + " gives " + result + " and \""
                        + name.replaceAll("[^ -~]", "?")
                        + "\", expected 0 and a name like gfx942:sramecc+:xnack-; see"
                        + " rocminfo");
            }
            return name;
        }
    }

    /** Finds the call that exports memory as dma-buf. */
    Optional<HipNicMemory.HipDmaBuf> dmaBuf() {
        return HipNicMemory.HipDmaBuf.of(library);
    }

    @Override
    public native int init(int flags);

    @Override
    @Symbol("hipGetDeviceCount")
    public native int deviceGetCount(int[] count);

    @Override
    public native int deviceGet(int[] device, int ordinal);

    @Override
    public native int deviceGetAttribute(int[] value, int attribute, int device);

    @Override
    public native int deviceGetName(byte[] text, int length, int device);

    @Override
    public native int deviceGetPCIBusId(byte[] text, int length, int device);

    /** HIP has one context for each GPU, which always exists; here it is named by the number of the GPU, plus 1. */
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
     * Allocates uncached memory, so that no cache of the owner hides what peers write over xGMI; fine-grained memory if HIP shows other GPUs
     * and none of them is connected by xGMI, since reading uncached memory is slow and PCIe does not need it.
     */
    @Override
    public int allocateShared(long[] address, long bytes) {
        int[] current = new int[1];
        int[] count = new int[1];
        int result = hipGetDevice(current);
        if (result == 0) {
            result = deviceGetCount(count);
        }
        return result != 0
                ? result
                : hipExtMallocWithFlags(address, bytes, onlyPci(current[0], count[0]) ? FINE_GRAINED : UNCACHED);
    }

    /** Returns whether {@link #allocateShared} gives uncached memory. */
    boolean sharesUncached(int device) {
        int[] count = new int[1];
        return deviceGetCount(count) == 0 && !onlyPci(device, count[0]);
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
    public native int free(long address);

    @Override
    @Symbol("hipMallocAsync")
    public native int memAllocAsync(long[] address, long bytes, long stream);

    @Override
    @Symbol("hipFreeAsync")
    public native int memFreeAsync(long address, long stream);

    @Override
    public native int memGetInfo(long[] free, long[] total);

    @Override
    public native int memGetAddressRange(long[] base, long[] bytes, long address);

    @Override
    public native int memsetD8Async(long address, byte value, long bytes, long stream);

    @Override
    public native int memcpyHtoD(long to, long from, long bytes);

    @Override
    public native int memcpyDtoH(long to, long from, long bytes);

    @Override
    public int memcpyAsync(long to, long from, long bytes, long stream) {
        return hipMemcpyAsync(to, from, bytes, COPY_DEFAULT, stream);
    }

    @Override
    public int allocatePinned(long[] address, long bytes) {
        return hipHostMalloc(address, bytes, PORTABLE_MAPPED_COHERENT);
    }

    @Override
    public native int hostFree(long address);

    @Override
    public native int hostGetDevicePointer(long[] address, long host, int flags);

    @Override
    public native int ipcGetMemHandle(byte[] handle, long base);

    @Override
    public int ipcOpenMemHandle(long[] base, byte[] handle) {
        var opened = new IpcHandle(handle);
        int result = hipIpcOpenMemHandle(base, opened, LAZY_ENABLE_PEER_ACCESS);
        // The only flag has the value 0 in older headers of ROCm 5, and other values are refused.
        return result == DriverErrors.INVALID_VALUE ? hipIpcOpenMemHandle(base, opened, 0) : result;
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

    /** Does nothing: a block may have all of the LDS. */
    @Override
    public int allowShared(long function, int bytes) {
        return 0;
    }

    @Override
    @Symbol("hipModuleLaunchKernel")
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
    @Symbol("hipStreamCreateWithFlags")
    public native int streamCreate(long[] stream, int flags);

    @Override
    public native int streamDestroy(long stream);

    @Override
    public native int streamSynchronize(long stream);

    @Override
    public native int streamWaitEvent(long stream, long event, int flags);

    @Override
    public native int streamIsCapturing(long stream, int[] status);

    @Override
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
    @Symbol("hipEventCreateWithFlags")
    public native int eventCreate(long[] event, int flags);

    @Override
    public native int eventRecord(long event, long stream);

    @Override
    public native int eventQuery(long event);

    @Override
    public native int eventElapsedTime(float[] milliseconds, long from, long to);

    @Override
    public native int eventDestroy(long event);

    /**
     * Layout of {@code hipDeviceProp_t} of {@code hip_runtime_api.h}, which has the architecture's name: there is no attribute for it.
     * ROCm 6 changed the structure and gave the call that fills the new one another name.
     */
    record HipProperties(String function, int bytes, int architectureAt) {
        /** Since ROCm 6: {@code hipDeviceProp_tR0600}. */
        static final HipProperties R0600 = new HipProperties("hipGetDevicePropertiesR0600", 1472, 1160);

        /** ROCm 5. */
        static final HipProperties R0000 = new HipProperties("hipGetDeviceProperties", 792, 396);

        private static HipProperties of(NativeLibrary library) {
            try {
                Function there = library.getFunction(R0600.function);
                return there.getName().isEmpty() ? R0000 : R0600;
            } catch (UnsatisfiedLinkError e) {
                return R0000;
            }
        }
    }
}
