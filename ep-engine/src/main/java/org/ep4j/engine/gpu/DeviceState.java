package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import org.ep4j.engine.sync.Mask;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.transport.memory.DeviceAllocation;

/** Access to {@code struct State} of {@code op.cu}, while no kernel runs. */
final class DeviceState {
    private static final int NUMBERS = 0;
    private static final int MASK_DIGEST = 88;
    private static final int GATHERED = 112;
    private static final int FAILED = GATHERED + 8;
    private static final int LL_REFUSED = FAILED + 8 + 4 * 32;
    private static final int MASKED = LL_REFUSED + 16;

    private final Copies copies;
    private final DeviceAllocation memory;
    private final int ranks;

    DeviceState(EngineGpu device, Copies copies, int ranks) {
        this.copies = copies;
        this.ranks = ranks;
        memory = device.allocatePrivate(MASKED + 4L * ranks);
    }

    long address() {
        return memory.memory().address();
    }

    /** Numbers of the newest operations: high throughput, low-latency dispatch, low-latency combine. */
    long[] numbers() {
        ByteBuffer words = copies.read(address() + NUMBERS, 24);
        return new long[] {words.getLong(), words.getLong(), words.getLong()};
    }

    void numbers(long highThroughput, long dispatch, long combine) {
        write(
                NUMBERS,
                Copies.buffer(88)
                        .putLong(highThroughput)
                        .putLong(dispatch)
                        .putLong(combine)
                        .putLong(dispatch)
                        .putLong(dispatch)
                        .putLong(combine)
                        .putLong(combine)
                        .putLong(taken(dispatch, 0))
                        .putLong(taken(dispatch, 1))
                        .putLong(taken(combine, 0))
                        .putLong(taken(combine, 1)));
    }

    /** One more than the newest operation of a bank, if {@code last} is the newest of all. */
    private static long taken(long last, int bank) {
        return (last & 1) == bank ? last + 1 : last;
    }

    void mask(Mask mask) {
        write(MASK_DIGEST, Copies.buffer(8).putLong(mask.digest()));
        ByteBuffer words = Copies.buffer(4 * ranks);
        for (int r = 0; r < ranks; r++) {
            words.putInt(mask.has(r) ? 1 : 0);
        }
        write(MASKED, words);
    }

    /** Returns whether kernels do nothing until {@link #clearFailure}. */
    boolean hasFailed() {
        return copies.read(address() + FAILED, 4).getInt() != 0;
    }

    /**
     * Allows kernels to work again after a failure. Resets counts, too: blocks that gave up may not have counted themselves, and an operation
     * that failed after all ranks had begun it may give its number to the next one.
     */
    void clearFailure() {
        write(GATHERED, Copies.buffer(MASKED - GATHERED).position(MASKED - GATHERED));
    }

    private void write(int offset, ByteBuffer words) {
        copies.write(address() + offset, words);
    }

    void close() {
        memory.close();
    }
}
