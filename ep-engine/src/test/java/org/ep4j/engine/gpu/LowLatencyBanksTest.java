package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Pointer;
import java.time.Duration;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpShape;
import org.ep4j.engine.cuda.CudaDevice;
import org.ep4j.engine.cuda.EmulatedCuda;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A receiving kernel marks its bank of symmetric memory as empty when all of its blocks have read, not before: a sending kernel
 * that runs beside it may give credit for the bank at once, and peers then write there.
 */
@Timeout(120)
final class LowLatencyBanksTest {
    private static final int RANKS = 2;
    private static final long NUMBER = 1;
    private static final EpShape SHAPE =
            EpShape.builder(128, 2, 1).maxLowLatencyTokens(2).build();
    private static final BufferLayout LAYOUT = new BufferLayout(SHAPE, RANKS);

    /** In {@code struct State}. */
    private static final int DISPATCH_OF = 24;

    private static final int COMBINE_OF = 40;
    private static final int DISPATCH_TAKEN = 56;
    private static final int COMBINE_TAKEN = 72;

    private CudaDevice device;
    private GpuModule module;
    private Launcher launcher;
    private GpuStream stream;
    private PinnedMemory failure;
    private PinnedMemory abort;
    private DeviceAllocation memory;

    /** Addresses of emulated GPUs are those of the host; copies would wait for the kernel. */
    private Pointer symmetric;

    private Pointer state;
    private Pointer handle;
    private long results;

    @BeforeEach
    void load() {
        device = EmulatedCuda.open(0);
        String source = KernelSource.of(SHAPE, RANKS, device.facts().sharedBytes());
        module = device.load("banks", source);
        launcher = new Launcher(device, module, KernelSource.kernels(source));
        stream = device.createStream();
        failure = device.allocatePinned(Failures.BYTES);
        abort = device.allocatePinned(8 * (1 + RANKS));
        memory = device.allocate(LAYOUT.bytes() + (1 << 20));
        long at = memory.memory().address();
        symmetric = new Pointer(at);
        state = new Pointer(at + LAYOUT.bytes());
        handle = new Pointer(at + LAYOUT.bytes() + 4096);
        results = at + LAYOUT.bytes() + (1 << 16);
    }

    @AfterEach
    void free() {
        stream.synchronize();
        memory.close();
        abort.close();
        failure.close();
        stream.close();
        module.close();
        device.close();
    }

    private Arguments arguments() {
        return new Arguments()
                .set(Param.LOCAL, Pointer.nativeValue(symmetric))
                .set(Param.STATE, Pointer.nativeValue(state))
                .set(Param.FAILURE, failure.deviceAddress())
                .set(Param.ABORT, abort.deviceAddress())
                .set(Param.DEADLINE, Duration.ofSeconds(60).toNanos())
                .set(Param.RANK, 0)
                .set(Param.LOCAL_EXPERTS, 1)
                .set(Param.TOKENS, 2)
                .set(Param.HANDLE, Pointer.nativeValue(handle))
                .set(Param.PARTIAL, true)
                .set(Param.OUT, results)
                .set(Param.SOURCE_TOKENS, results + (1 << 16))
                .set(Param.LL_COUNTS, results + (1 << 17))
                .set(Param.RANGES, results + (1 << 18));
    }

    /** A source has said in which operation it is. */
    private void announce(Block block, Counter counter, int source) {
        symmetric.setLong(LAYOUT.block(block, NUMBER, source), NUMBER);
        symmetric.setLong(LAYOUT.counter(counter, source), NUMBER);
    }

    /** What {@code source} sends is nothing, and said. */
    private void countNothing(int source) {
        symmetric.setLong(LAYOUT.counts(NUMBER, source), NUMBER << 32 | 1L << 31);
        symmetric.setLong(LAYOUT.counts(NUMBER, source) + 8, NUMBER << 32 | 1L << 31);
    }

    private void assertNotMarkedFor(Duration time, int taken) throws InterruptedException {
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() - end < 0) {
            assertThat(state.getLong(taken + 8 * NUMBER)).as("the bank's mark").isZero();
            Thread.sleep(5);
        }
    }

    @Test
    void dispatchMarksItsBankWhenTheLastBlockHasRead() throws InterruptedException {
        state.setLong(DISPATCH_OF, NUMBER);
        announce(Block.LL_DISPATCH, Counter.LL_DISPATCH, 0);
        countNothing(0);
        launcher.launch(
                "ll_dispatch_receive", 3, LowLatencyPieces.RECEIVE_THREADS, 1024, stream.handle(), arguments(), false);
        // The first block has nothing to do; the second waits for the other rank.
        assertNotMarkedFor(Duration.ofMillis(500), DISPATCH_TAKEN);
        announce(Block.LL_DISPATCH, Counter.LL_DISPATCH, 1);
        countNothing(1);
        stream.synchronize();
        assertThat(failure.memory().getLong(0)).isZero();
        assertThat(state.getLong(DISPATCH_TAKEN + 8 * NUMBER)).isEqualTo(NUMBER + 1);
    }

    @Test
    void combineMarksItsBankWhenTheLastBlockHasRead() throws InterruptedException {
        state.setLong(COMBINE_OF, NUMBER);
        announce(Block.LL_COMBINE, Counter.LL_COMBINE, 0);
        announce(Block.LL_COMBINE, Counter.LL_COMBINE, 1);
        // The first token was this rank's, the second one's row comes from the other rank.
        handle.setInt(512, 0);
        handle.setInt(512 + 4, 1);
        symmetric.setLong(LAYOUT.combineFlag(NUMBER, 0, 0), NUMBER);
        launcher.launch(
                "ll_combine_receive", 2, LowLatencyPieces.COMBINE_THREADS, 0, stream.handle(), arguments(), false);
        assertNotMarkedFor(Duration.ofMillis(500), COMBINE_TAKEN);
        symmetric.setLong(LAYOUT.combineFlag(NUMBER, 1, 0), NUMBER);
        stream.synchronize();
        assertThat(failure.memory().getLong(0)).isZero();
        assertThat(state.getLong(COMBINE_TAKEN + 8 * NUMBER)).isEqualTo(NUMBER + 1);
    }
}
