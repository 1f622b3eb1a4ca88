package org.ep4j.gpu.driver;

import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.ToIntFunction;
import org.ep4j.topology.model.PciAddress;

/**
 * Calls that the drivers of NVIDIA's and AMD's GPUs have in common, for the calling thread's current GPU unless a device is named. Most have
 * the name of the function in {@code cuda.h} or {@code hip_runtime_api.h}, without {@code cu} or {@code hip}. Handles
 * and device addresses are {@code long}; results are the driver's own numbers, 0 for success. Those that ep4j checks are the
 * same for both: see {@link DriverErrors}. Safe for use from several threads.
 */
public interface GpuDriver {
    /** Bytes that suffice for the texts of a driver. */
    int TEXT_BYTES = 128;

    /** Attribute of a kernel, of both drivers: the most threads of a block. */
    int MAX_THREADS_PER_BLOCK = 0;

    /** Attribute of a kernel, of both drivers: bytes of a block's static shared memory. */
    int STATIC_SHARED_BYTES = 1;

    /** Flag of a stream, of both drivers. */
    int NON_BLOCKING = 1;

    /** Flag of an event, of both drivers. */
    int DISABLE_TIMING = 2;

    /** Mode of recording, of both drivers. */
    int THREAD_LOCAL = 1;

    /**
     * {@code CUipcMemHandle} and {@code hipIpcMemHandle_t}: opaque bytes, as an argument by value. JNA makes it and reads its field by
     * reflection, so all is public.
     */
    @FieldOrder("reserved")
    final class IpcHandle extends Structure implements Structure.ByValue {
        public byte[] reserved = new byte[MemoryHandle.HANDLE_BYTES];

        /** For JNA. */
        public IpcHandle() {}

        public IpcHandle(byte[] handle) {
            System.arraycopy(handle, 0, reserved, 0, reserved.length);
        }
    }

    /** The number that a call writes, or {@code absent} when the call fails. */
    static int readOr(int absent, ToIntFunction<int[]> call) {
        int[] number = new int[1];
        return call.applyAsInt(number) == 0 ? number[0] : absent;
    }

    /** The text before the first zero byte. */
    static String text(byte[] zeroEnded) {
        return new String(zeroEnded, StandardCharsets.US_ASCII).split("\0", -1)[0];
    }

    /** Type of its devices: {@code cuda} or {@code hip}. */
    String type();

    /** Name, number and meaning of a result: {@code CUDA_ERROR_INVALID_VALUE (1, invalid argument)}. */
    String describe(int result);

    /** Environment variable that says which GPUs a process sees. */
    String visibleVariable();

    /** Command that shows which GPUs reach each other. */
    String peerTool();

    /** Returns whether the driver frees what a context has once its last user in the process has left. */
    boolean freesWithContext();

    /** Starts the driver, again at no cost; there are no flags yet. */
    int init(int flags);

    /** GPUs that the process sees. */
    int deviceGetCount(int[] count);

    /** The driver's own number of a GPU. */
    int deviceGet(int[] device, int ordinal);

    /** An attribute of a GPU; the numbers of attributes are the driver's own. */
    int deviceGetAttribute(int[] value, int attribute, int device);

    /** An attribute of a GPU, or {@code absent} from a driver that does not know it. */
    default int attributeOr(int absent, int attribute, int device) {
        return readOr(absent, value -> deviceGetAttribute(value, attribute, device));
    }

    /** Model name of a GPU as a text that ends with a zero byte. */
    int deviceGetName(byte[] text, int length, int device);

    /** Model name of a GPU; empty when the driver does not give it. */
    default String name(int device) {
        byte[] text = new byte[TEXT_BYTES];
        return deviceGetName(text, text.length, device) == 0 ? text(text) : "";
    }

    /** PCI function of a GPU as a text that ends with a zero byte. */
    int deviceGetPCIBusId(byte[] text, int length, int device);

    /** PCI function of a GPU; empty when the driver does not give it. */
    default Optional<PciAddress> address(int device) {
        byte[] text = new byte[TEXT_BYTES];
        return deviceGetPCIBusId(text, text.length, device) == 0 ? PciAddress.parse(text(text)) : Optional.empty();
    }

    /** Makes sure that a GPU can be used; {@code context} names it in the calls below. */
    int retain(long[] context, int device);

    /** Ends {@link #retain}. */
    int release(int device);

    /** Makes a GPU current for the calling thread, until {@link #leave}. */
    int enter(long context);

    /** Restores what was current before {@link #enter}. */
    int leave();

    /** Lets the current GPU load and store memory of another. */
    int enablePeer(long context);

    /** Memory of the GPU for its own work. */
    int allocate(long[] address, long bytes);

    /** Memory of the GPU that others write and read while its kernels run; freed by {@link #free}. */
    int allocateShared(long[] address, long bytes);

    /** Frees memory; waits for the GPU's work. */
    int free(long address);

    /** As {@link #allocate}, in the order of a stream. */
    int memAllocAsync(long[] address, long bytes, long stream);

    /** Frees memory of {@link #memAllocAsync} in the order of a stream. */
    int memFreeAsync(long address, long stream);

    /** Free and whole memory of the GPU, in bytes. */
    int memGetInfo(long[] free, long[] total);

    /** The allocation that an address is in. */
    int memGetAddressRange(long[] base, long[] bytes, long address);

    /** Queues filling with a byte. */
    int memsetD8Async(long address, byte value, long bytes, long stream);

    /** Copies from the host; the source has been read when this returns. */
    int memcpyHtoD(long to, long from, long bytes);

    /** Copies to the host, whole when this returns. */
    int memcpyDtoH(long to, long from, long bytes);

    /** Queues a copy between any two addresses. */
    int memcpyAsync(long to, long from, long bytes, long stream);

    /** Allocates memory of the host that all GPUs of the process reach. */
    int allocatePinned(long[] address, long bytes);

    /** Frees memory of {@link #allocatePinned}. */
    int hostFree(long address);

    /** Gets the address at which the GPU reaches memory of {@link #allocatePinned}. */
    int hostGetDevicePointer(long[] address, long host, int flags);

    /** Writes a handle of {@link MemoryHandle#HANDLE_BYTES} bytes by which other processes of the host open an allocation. */
    int ipcGetMemHandle(byte[] handle, long base);

    /** Opens an allocation of another process. */
    int ipcOpenMemHandle(long[] base, byte[] handle);

    /** Closes memory of {@link #ipcOpenMemHandle}. */
    int ipcCloseMemHandle(long base);

    /** Loads machine code. */
    int moduleLoadData(long[] module, byte[] code);

    /** Unloads machine code. */
    int moduleUnload(long module);

    /** A kernel by its name. */
    int moduleGetFunction(long[] function, long module, String name);

    /** An attribute of a kernel; also loads it, where the driver otherwise does at its first launch. */
    int funcGetAttribute(int[] value, int attribute, long function);

    /** Allows a kernel {@code bytes} of dynamic shared memory. */
    int allowShared(long function, int bytes);

    /** Queues a kernel; {@code parameters} is the address of the list of addresses of its arguments. */
    int launchKernel(
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

    /** Exchanges the thread's mode for calls while streams record: global, of the thread, relaxed. */
    int threadExchangeStreamCaptureMode(int[] mode);

    /** A stream; with {@link #NON_BLOCKING} it waits for no other. */
    int streamCreate(long[] stream, int flags);

    /** Destroys a stream when its work is done. */
    int streamDestroy(long stream);

    /** Waits for the work of a stream. */
    int streamSynchronize(long stream);

    /** Lets a stream wait for an event. */
    int streamWaitEvent(long stream, long event, int flags);

    /** Asks whether a stream records: 0 when it does not. */
    int streamIsCapturing(long stream, int[] status);

    /** Begins to record a stream; with {@link #THREAD_LOCAL} calls of other threads are not restricted. */
    int streamBeginCapture(long stream, int mode);

    /** Ends the recording of a stream. */
    int streamEndCapture(long stream, long[] graph);

    /** Makes a graph executable. */
    int graphInstantiateWithFlags(long[] executable, long graph, long flags);

    /** Queues a graph. */
    int graphLaunch(long executable, long stream);

    /** Destroys an executable graph. */
    int graphExecDestroy(long executable);

    /** Destroys a graph. */
    int graphDestroy(long graph);

    /** An event; one with {@link #DISABLE_TIMING} is cheaper. */
    int eventCreate(long[] event, int flags);

    /** Moves an event to the end of what is queued on a stream. */
    int eventRecord(long event, long stream);

    /** Asks whether the work before an event is done: {@link DriverErrors#NOT_READY} when it is not. */
    int eventQuery(long event);

    /** Time between two events. */
    int eventElapsedTime(float[] milliseconds, long from, long to);

    /** Destroys an event. */
    int eventDestroy(long event);
}
