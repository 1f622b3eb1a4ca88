package org.ep4j.gpu.hip;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.DriverContext;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.ep4j.spi.ExposedMemory;

/**
 * Access of NICs to memory of an AMD GPU. Writes over PCIe go through the GPU's host data path (HDP), and kernels see them
 * after a flush: a store to a register that HIP maps into the process, as in rocSHMEM.
 */
public final class HipNicMemory implements NicMemory {
    private static final VarHandle INTS = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final int FLUSH = 1;
    static final int HDP_MEM_FLUSH_CONTROL = 10005;
    static final int IS_LARGE_BAR = 10011;

    private final DriverContext context;
    private final Optional<HipDmaBuf> dmaBuf;
    private final GpuDirect facts;
    private final Optional<ByteBuffer> register;

    HipNicMemory(HipRuntime runtime, DriverContext context) {
        this.context = context;
        this.dmaBuf = runtime.dmaBuf();
        this.facts = facts(runtime, context.device());
        this.register = flushRegister(runtime, context.device());
    }

    /** Returns what a GPU allows, without using it; empty if there is no such GPU. */
    public static Optional<GpuDirect> facts(Device device) {
        if (!device.type().equals("hip")) {
            return Optional.empty();
        }
        try {
            HipRuntime runtime = HipRuntime.load();
            int[] handle = new int[1];
            return runtime.init(0) == 0 && runtime.deviceGet(handle, device.ordinal()) == 0
                    ? Optional.of(facts(runtime, handle[0]))
                    : Optional.empty();
        } catch (EpException e) {
            // The probe of the device says why.
            return Optional.empty();
        }
    }

    private static GpuDirect facts(HipRuntime runtime, int device) {
        return facts(
                runtime.attributeOr(0, IS_LARGE_BAR, device) != 0,
                flushRegister(runtime, device).isPresent(),
                runtime.dmaBuf().isPresent());
    }

    private static Optional<ByteBuffer> flushRegister(HipRuntime runtime, int device) {
        // The one attribute that is an address, of 8 bytes.
        int[] halves = new int[2];
        int result = runtime.deviceGetAttribute(halves, HDP_MEM_FLUSH_CONTROL, device);
        long address = (long) halves[1] << 32 | Integer.toUnsignedLong(halves[0]);
        return result == 0 && address != 0
                ? Optional.of(new Pointer(address).getByteBuffer(0, Integer.BYTES))
                : Optional.empty();
    }

    /** Evaluates whether the PCIe window covers all memory, the register that flushes is mapped, and a call exports dma-buf. */
    static GpuDirect facts(boolean largeBar, boolean register, boolean dmaBuf) {
        Optional<String> refusal = Optional.empty();
        if (!largeBar) {
            refusal = Optional.of(
                    "the GPU's PCIe window does not cover all its memory (hipDeviceAttributeIsLargeBar is 0);"
                            + " enable above 4G decoding and resizable BAR in the firmware of the machine");
        } else if (!register) {
            refusal = Optional.of("HIP reports no register for flushing writes that arrived over PCIe"
                    + " (hipDeviceAttributeHdpMemFlushCntl), as in some virtual machines");
        }
        return new GpuDirect(
                refusal,
                dmaBuf
                        ? Optional.empty()
                        : Optional.of("this HIP has neither " + HipDmaBuf.HIP + " nor " + HipDmaBuf.HSA
                                + "; install a complete ROCm 6.0 or newer"),
                true,
                Optional.of("ep4j has not been tested yet with NICs that write to memory of AMD GPUs, so ep4j allows it"
                        + " only on request: set ep.gpu.window=device, and check that ./ep conformance passes with"
                        + " it"));
    }

    @Override
    public GpuDirect facts() {
        return facts;
    }

    @Override
    public File export(DeviceMemory memory) {
        HipDmaBuf exporter = dmaBuf.orElseThrow(
                () -> new EpUnavailableException(facts.withoutDmaBuf().orElse("") + ", or set ep.gpu.window=host"));
        long bytes = (memory.byteSize() + GRANULE - 1) / GRANULE * GRANULE;
        return new File(exporter.export(context, memory, bytes));
    }

    @Override
    public void flush() {
        // Volatile: what follows, as the counters that kernels poll, is stored after it.
        INTS.setVolatile(register.orElseThrow(), 0, FLUSH);
    }

    /**
     * The call that exports memory of AMD GPUs as dma-buf: HIP's own, from ROCm 7.0 on, else that of the HSA runtime below it,
     * which is older. Both come from the library of HIP or those that it links to, so that they are of one installation.
     */
    record HipDmaBuf(Function call, boolean hip) {
        /** {@code hip_runtime_api.h}: handle, address, bytes, type, flags; a {@code hipError_t}. */
        static final String HIP = "hipMemGetHandleForAddressRange";

        /** {@code hsa_ext_amd.h}: address, bytes, descriptor, offset; a {@code hsa_status_t}. */
        static final String HSA = "hsa_amd_portable_export_dmabuf";

        private static final int RANGE_HANDLE_TYPE_DMA_BUF_FD = 1;

        /** Finds the call in an installation; empty if it has none. */
        static Optional<HipDmaBuf> of(NativeLibrary library) {
            return hip(library).or(() -> hsa(library));
        }

        static Optional<HipDmaBuf> hip(NativeLibrary library) {
            return find(library, HIP).map(call -> new HipDmaBuf(call, true));
        }

        static Optional<HipDmaBuf> hsa(NativeLibrary library) {
            return find(library, HSA).map(call -> new HipDmaBuf(call, false));
        }

        private static Optional<Function> find(NativeLibrary library, String name) {
            try {
                return Optional.of(library.getFunction(name));
            } catch (UnsatisfiedLinkError e) {
                return Optional.empty();
            }
        }

        /** Exports {@code bytes} bytes of an allocation from its start, {@code memory}, on. The caller closes the descriptor. */
        ExposedMemory.DmaBuf export(DriverContext context, DeviceMemory memory, long bytes) {
            int[] descriptor = new int[1];
            if (hip) {
                context.call(
                        HIP + " of " + memory + " as dma-buf",
                        () -> call.invokeInt(
                                new Object[] {descriptor, memory.address(), bytes, RANGE_HANDLE_TYPE_DMA_BUF_FD, 0L}));
                return new ExposedMemory.DmaBuf(descriptor[0], 0);
            }
            long[] offset = new long[1];
            int result =
                    context.result(() -> call.invokeInt(new Object[] {memory.address(), bytes, descriptor, offset}));
            if (result != 0) {
                throw new EpException(HSA + " of " + memory + " failed: hsa_status_t 0x" + Integer.toHexString(result)
                        + "; see the kernel's log, and check that the kernel has CONFIG_PCI_P2PDMA and"
                        + " CONFIG_DMABUF_MOVE_NOTIFY");
            }
            return new ExposedMemory.DmaBuf(descriptor[0], offset[0]);
        }
    }
}
