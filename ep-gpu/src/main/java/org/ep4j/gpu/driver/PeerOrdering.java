package org.ep4j.gpu.driver;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Optional;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpDevice;
import org.ep4j.gpu.GpuStream;

/**
 * Tests that data which one GPU writes into the memory of another is there once the flag after it is. NVLink and xGMI
 * promise that; what PCIe bridges and switches do on the way between two GPUs has to be tried. For one thread.
 */
public final class PeerOrdering implements AutoCloseable {
    /** Bytes of each GPU's memory that the test uses. */
    public static final long BYTES = 64L << 10;

    private static final String SOURCE = "ordering.cu";
    private static final long DATA = 32L << 10;
    private static final long FLAG = DATA + 4096;
    private static final long RESULT = FLAG + 4096;
    private static final int THREADS = 256;

    private final EngineGpu device;
    private final GpuModule module;
    private final long kernel;

    public PeerOrdering(EpDevice device) {
        this(device, source());
    }

    PeerOrdering(EpDevice device, String source) {
        if (!(device instanceof EngineGpu gpu)) {
            throw new EpArgumentException("device", device.id(), "a GPU", "set ep.device to cuda or hip");
        }
        this.device = gpu;
        this.module = gpu.load("ordering", source);
        this.kernel = module.kernel("ordering", 0);
    }

    /** The kernel, without the dialect. */
    public static String source() {
        return KernelDialect.text(SOURCE, PeerOrdering.class.getResourceAsStream(SOURCE));
    }

    /**
     * This GPU's half of a test; the peer does the other half at the same time. Both must have ended before either begins
     * another one.
     *
     * @param own memory of this GPU, {@link #BYTES} long, which the peer writes
     * @param peer the peer's as it is mapped here
     * @param first true on one of the two
     * @param number of the test in the life of the memory, from 0; the same on both
     * @param rounds data and flags that are sent, half of them each way
     * @param limit longest wait for the peer
     * @return what was wrong; empty when all data was there in time
     */
    public Optional<String> check(
            DeviceMemory own, DeviceMemory peer, boolean first, int number, int rounds, Duration limit) {
        device.upload(ByteBuffer.allocateDirect(24), own.slice(RESULT, 24));
        long[] values = {
            own.address(),
            own.address() + FLAG,
            peer.address(),
            peer.address() + FLAG,
            own.address() + RESULT,
            (long) number << 32,
            rounds,
            DATA / 16,
            limit.toNanos(),
            first ? 1 : 0
        };
        try (Memory parameters = new Memory(8L + 8L * values.length);
                GpuStream stream = device.createStream()) {
            parameters.setLong(0, Pointer.nativeValue(parameters) + 8);
            parameters.write(8, values, 0, values.length);
            device.launch(kernel, 1, THREADS, 0, stream.handle(), Pointer.nativeValue(parameters));
            device.record(stream.handle()).await(limit.multipliedBy(2).plusSeconds(30));
        }
        ByteBuffer result = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder());
        device.download(own.slice(RESULT, 24), result);
        return verdict(result.getLong(0), result.getLong(8), result.getLong(16), first, rounds);
    }

    private static Optional<String> verdict(long wrong, long firstWrong, long done, boolean first, int rounds) {
        long last = (rounds & 1) == (first ? 1 : 0) ? rounds - 1 : rounds;
        if (wrong > 0) {
            return Optional.of("data arrived later than its flag in " + wrong + " of the " + done / 2 * (DATA / 16)
                    + " vectors (16 bytes each) that were checked, first in test round " + firstWrong);
        }
        if (done < last) {
            return Optional.of("the peer's flag of test round " + (done + 2) + " of " + rounds + " never arrived");
        }
        return Optional.empty();
    }

    @Override
    public void close() {
        module.close();
    }
}
