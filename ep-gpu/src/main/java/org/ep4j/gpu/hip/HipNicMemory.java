package org.ep4j.gpu.hip;

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
import org.ep4j.gpu.driver.GpuDirect;
import org.ep4j.gpu.driver.NicMemory;

/**
 * Memory of an AMD GPU as NICs reach it. What comes over PCIe goes through the GPU's host data path (HDP), and kernels see it
 * when that has been flushed: by a store to a register that HIP maps into the process, as rocSHMEM does it.
 */
public final class HipNicMemory implements NicMemory {
    private static final VarHandle INTS = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final int FLUSH = 1;

    /** {@code hipDeviceAttributeHdpMemFlushCntl}: where the register is. */
    static final int HDP_MEM_FLUSH_CONTROL = 10005;

    /** {@code hipDeviceAttributeIsLargeBar}. */
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

    /** What a GPU allows, without using it; empty where there is no such GPU. */
    public static Optional<GpuDirect> facts(Device device) {
        if (!device.type().equals("hip")) {
            return Optional.empty();
        }
        try {
            HipRuntime runtime = HipRuntime.load();
            int[] handle = new int[1];
            return runtime.init(0) == 0 && runtime.device(handle, device.ordinal()) == 0
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

    /** Empty where HIP has not mapped it. */
    private static Optional<ByteBuffer> flushRegister(HipRuntime runtime, int device) {
        // The one attribute that is an address, of 8 bytes.
        int[] halves = new int[2];
        int result = runtime.attribute(halves, HDP_MEM_FLUSH_CONTROL, device);
        long address = (long) halves[1] << 32 | Integer.toUnsignedLong(halves[0]);
        return result == 0 && address != 0
                ? Optional.of(new Pointer(address).getByteBuffer(0, Integer.BYTES))
                : Optional.empty();
    }

    /**
     * What follows from what HIP says.
     *
     * @param largeBar all of the memory is in the GPU's PCIe window
     * @param register the register that flushes is mapped
     * @param dmaBuf there is a call that gives out dma-buf
     */
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
                Optional.of(
                        "ep4j has not been tested yet with NICs that write to memory of AMD GPUs, so ep4j allows it only on request:"
                                + " set ep.gpu.window=device, and check that ./ep conformance passes with it"));
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
}
