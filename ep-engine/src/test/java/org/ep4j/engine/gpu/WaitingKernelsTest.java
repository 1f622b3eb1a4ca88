package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpEvent;
import org.ep4j.EpShape;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Kernels that run while others do: a receiving one beside the sending one, and one whose peer has not called the operation yet. */
@Tag("verify")
final class WaitingKernelsTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE =
            EpShape.builder(64, 4, 2).maxLowLatencyTokens(TOKENS).build();

    /** Longer than kernels need to do all that they can without the other rank. */
    private static final Duration WHILE = Duration.ofMillis(300);

    private static LowLatencyDispatchResult dispatch(Rank rank, boolean hook) {
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = i % SHAPE.experts();
        }
        Tensor weights = rank.floats(new float[ids.length], TOKENS, SHAPE.topK());
        LowLatencyDispatchRequest.Builder request = LowLatencyDispatchRequest.of(
                        rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden()),
                        rank.ints(ids, TOKENS, SHAPE.topK()))
                .topkWeights(weights);
        return rank.buffer()
                .dispatch((hook ? request.hook() : request.options(OpOptions.DEFAULT.asynchronous())).build());
    }

    private static void waits(EpEvent event) {
        assertThatThrownBy(() -> event.await(WHILE))
                .isInstanceOfSatisfying(
                        EpTimeoutException.class, e -> assertThat(e.phase()).isEqualTo("event"));
    }

    /** Offset in {@code struct State} of what marks the bank of the first dispatch as emptied. */
    private static final int TAKEN = 64;

    /** Marks the bank of the first dispatch as emptied, as a block of the receiving kernel does while others still read. */
    private static void mark(Rank rank, long taken) {
        Copies copies = new Copies((GpuDevice) rank.group().device());
        copies.write(
                ((GpuBuffer) rank.buffer()).deviceState().address() + TAKEN,
                Copies.buffer(8).putLong(taken));
        copies.close();
    }

    /** Last dispatch that rank 0 has received, as rank 1 knows. */
    private static long creditOfRankZero(Rank rank) {
        long offset = 64L * 2 * BufferLayout.number(Counter.LL_DISPATCH_CREDIT);
        DeviceMemory counter =
                ((GpuBuffer) rank.buffer()).symmetricMemory().get(rank.number()).slice(offset, 8);
        ByteBuffer word = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
        rank.group().device().download(counter, word);
        return word.getLong(0);
    }

    /** With it, the peer would write where other blocks still read. */
    @Test
    void sendingKernelGivesNoCreditForItsOwnOperation() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                LowLatencyDispatchResult result = null;
                if (rank.number() == 0) {
                    mark(rank, 2);
                    result = dispatch(rank, true);
                    mark(rank, 0);
                }
                rank.group().barrier(Guard.minute());
                if (rank.number() == 1) {
                    assertThat(creditOfRankZero(rank))
                            .as("after rank 0 has sent")
                            .isZero();
                }
                result = result == null ? dispatch(rank, true) : result;
                result.receive();
                result.event().await(Guard.minute());
                dispatch(rank, true).receive();
                rank.group().barrier(Guard.minute());
                if (rank.number() == 1) {
                    assertThat(creditOfRankZero(rank))
                            .as("after the next dispatch")
                            .isOne();
                }
            });
        }
    }

    @Test
    void clockThatStepsBackEndsNoWait() {
        Duration step = Duration.ofSeconds(30);
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                LowLatencyDispatchResult result = null;
                if (rank.number() == 0) {
                    result = dispatch(rank, false);
                    waits(result.event());
                    long looks = EmulatedGpu.looks();
                    EmulatedGpu.pass(step.negated());
                    Guard.until("the kernel that waits has seen it", () -> EmulatedGpu.looks() > looks);
                }
                try {
                    if (result != null) {
                        waits(result.event());
                    }
                    rank.group().barrier(Guard.minute());
                    result = result == null ? dispatch(rank, false) : result;
                    result.event().await(Guard.minute());
                } finally {
                    if (rank.number() == 0) {
                        EmulatedGpu.pass(step);
                    }
                }
            });
        }
    }
}
