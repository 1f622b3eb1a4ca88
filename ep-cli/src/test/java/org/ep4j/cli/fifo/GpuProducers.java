package org.ep4j.cli.fifo;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.gpu.KernelSource;
import org.ep4j.gpu.GpuKernel;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.transport.memory.DeviceAllocation;

/** The kernels of {@code fifo_bench.cu}. */
final class GpuProducers implements Producers {
    private static final int FIFO_BYTES = 24;
    private static final int HEAD_STRIDE = 128;
    private static final int CALIBRATION = 4;

    private final EngineGpu device;
    private final RingMemory ringMemory;
    private final int each;
    private final PinnedMemory pinned;
    private final DeviceAllocation fifos;
    private final DeviceAllocation heads;
    private final GpuKernels kernels;
    private final GpuKernel fill;
    private final GpuKernel ping;
    private final GpuStream stream;
    private long epoch;
    private long pings;

    /** On a device, which stays open. */
    GpuProducers(EngineGpu device, int rings, int commands, int each) {
        this.device = device;
        this.each = each;
        this.pinned = device.allocatePinned(RingMemory.bytes(rings, commands));
        // Driver and process use one address for such memory: the process is 64 bits wide.
        this.ringMemory = new RingMemory(pinned.memory(), pinned.deviceAddress(), rings, commands);
        this.fifos = device.allocate((long) FIFO_BYTES * rings);
        this.heads = device.allocate((long) HEAD_STRIDE * rings);
        this.kernels = device.compile("fifo_bench.cu", source());
        this.fill = kernels.kernel("fifo_fill", each, 0);
        this.ping = kernels.kernel("fifo_ping", device.info().warpSize(), 0);
        this.stream = device.createStream();
        ByteBuffer table = ByteBuffer.allocateDirect(FIFO_BYTES * rings).order(ByteOrder.nativeOrder());
        for (int i = 0; i < rings; i++) {
            table.putLong(pinned.deviceAddress() + ringMemory.offset(i));
            table.putLong(heads.memory().address() + (long) HEAD_STRIDE * i);
            table.putLong(commands);
        }
        device.upload(table.flip(), fifos.memory());
    }

    private static String source() {
        try (InputStream in = GpuProducers.class.getResourceAsStream("fifo_bench.cu")) {
            if (in == null) {
                throw new IllegalStateException("fifo_bench.cu is missing on the class path");
            }
            return KernelSource.parts("fifo.cu") + "#line 1 \"fifo_bench.cu\"\n"
                    + new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public RingMemory ringMemory() {
        return ringMemory;
    }

    @Override
    public int each() {
        return each;
    }

    @Override
    public String name() {
        return device.id() + " (" + device.info().architecture() + ")";
    }

    @Override
    public void clear() {
        ringMemory.clear();
        device.zero(heads.memory().address(), heads.memory().byteSize(), stream.handle());
        device.synchronize(stream.handle());
    }

    @Override
    public long fill(int rings, long commands) {
        launch(fill, rings, rings, commands, 0, 0);
        long start = openGate();
        device.synchronize(stream.handle());
        check();
        return start;
    }

    @Override
    public long[] ping(int count) {
        try (DeviceAllocation samples = device.allocate(8L * (count + CALIBRATION))) {
            launch(ping, 1, 1, 0, samples.memory().address(), count);
            openGate();
            device.synchronize(stream.handle());
            check();
            pings += count;
            ByteBuffer ticks =
                    ByteBuffer.allocateDirect(8 * (count + CALIBRATION)).order(ByteOrder.nativeOrder());
            device.download(samples.memory(), ticks);
            ticks.flip();
            double nanosPerTick = (double) (ticks.getLong(8 * (count + 3)) - ticks.getLong(8 * (count + 1)))
                    / (ticks.getLong(8 * (count + 2)) - ticks.getLong(8 * count));
            long[] nanos = new long[count];
            for (int i = 0; i < count; i++) {
                nanos[i] = Math.round(ticks.getLong(8 * i) * nanosPerTick);
            }
            return nanos;
        }
    }

    private void launch(GpuKernel kernel, int blocks, int rings, long commands, long samples, long count) {
        epoch++;
        long at = pinned.deviceAddress();
        kernel.launch(
                stream,
                blocks,
                fifos.memory().address(),
                rings,
                commands,
                at + RingMemory.GO,
                epoch,
                at + RingMemory.ANSWER,
                samples,
                count,
                pings,
                at + RingMemory.GAVE_UP);
    }

    private long openGate() {
        long now = System.nanoTime();
        ringMemory.memory().putLongRelease(RingMemory.GO, epoch);
        return now;
    }

    private void check() {
        if (ringMemory.memory().getLongAcquire(RingMemory.GAVE_UP) != 0) {
            throw new EpTimeoutException(
                    "a kernel has waited 20 s for the proxy threads, which have consumed "
                            + ringMemory.consumed(ringMemory.rings())
                            + " commands; check that each proxy thread has a CPU core",
                    EpFailure.builder("commands", -1).expected(1).build());
        }
    }

    @Override
    public void close() {
        stream.close();
        kernels.close();
        heads.close();
        fifos.close();
        pinned.close();
    }
}
