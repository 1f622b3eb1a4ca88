package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpBuffer;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.EpShape;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.EngineBuffer;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.gpu.driver.EngineGpu;
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
        return hook
                ? rank.buffer().lowLatencyDispatch(request(rank).receiveHook().build())
                : later(rank).lowLatencyDispatch(request(rank).build());
    }

    private static EpBuffer later(Rank rank) {
        return rank.buffer().withOptions(OpOptions.DEFAULT.asynchronous());
    }

    private static LowLatencyDispatchRequest.Builder request(Rank rank) {
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = i % SHAPE.experts();
        }
        Tensor weights = rank.floats(new float[ids.length], TOKENS, SHAPE.topK());
        return LowLatencyDispatchRequest.builder(
                        rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden()),
                        rank.ints(ids, TOKENS, SHAPE.topK()))
                .topkWeights(weights);
    }

    private static void waits(EpEvent event) {
        assertThatThrownBy(() -> event.await(WHILE)).isInstanceOfSatisfying(EpTimeoutException.class, e -> {
            assertThat(e.failure().phase()).isEqualTo("event");
            assertThat(e.recourse()).isEqualTo(EpException.Recourse.FIX_CALL);
        });
    }

    /** With weights of 1, of rows that have the value everywhere. */
    private static CombineResult combine(Rank rank, LowLatencyHandle handle, float value, boolean hook) {
        int experts = rank.buffer().placement().localExperts(rank.number());
        long rows = rank.buffer().maxLowLatencyRows();
        ByteBuffer values = ByteBuffer.allocate((int) (2L * experts * rows * SHAPE.hidden()))
                .order(ByteOrder.nativeOrder());
        while (values.hasRemaining()) {
            values.putShort(DataType.toBf16(value));
        }
        float[] weights = new float[TOKENS * SHAPE.topK()];
        Arrays.fill(weights, 1);
        LowLatencyCombineRequest.Builder request = LowLatencyCombineRequest.builder(
                        rank.tensor(DataType.BF16, values.array(), experts, rows, SHAPE.hidden()), handle)
                .topkWeights(rank.floats(weights, TOKENS, SHAPE.topK()));
        return hook
                ? rank.buffer().lowLatencyCombine(request.receiveHook().build())
                : later(rank).lowLatencyCombine(request.build());
    }

    private static GpuBuffer gpu(Rank rank) {
        return EngineBuffer.on(rank.buffer(), GpuBuffer.class).orElseThrow();
    }

    /** Offsets in {@code struct State} of what marks the bank of the first operation as emptied. */
    private static final int DISPATCH_TAKEN = 64;

    private static final int COMBINE_TAKEN = 80;

    /** Marks the bank of the first operation as emptied, as a block of the receiving kernel does while others still read. */
    private static void mark(Rank rank, int offset, long taken) {
        Copies copies = new Copies((EngineGpu) rank.group().device());
        copies.write(
                gpu(rank).deviceState().address() + offset, Copies.buffer(8).putLong(taken));
        copies.close();
    }

    /** Last operation that rank 0 has received, as rank 1 knows. */
    private static long creditOfRankZero(Rank rank, Counter credit) {
        long offset = 64L * 2 * BufferLayout.number(credit);
        DeviceMemory counter = gpu(rank).symmetricMemory().get(rank.number()).slice(offset, 8);
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
                    mark(rank, DISPATCH_TAKEN, 2);
                    result = dispatch(rank, true);
                    mark(rank, DISPATCH_TAKEN, 0);
                }
                rank.group().barrier(Guard.minute());
                if (rank.number() == 1) {
                    assertThat(creditOfRankZero(rank, Counter.LL_DISPATCH_CREDIT))
                            .as("after rank 0 has sent")
                            .isZero();
                }
                result = result == null ? dispatch(rank, true) : result;
                result.receive();
                result.event().await(Guard.minute());
                dispatch(rank, true).receive();
                rank.group().barrier(Guard.minute());
                if (rank.number() == 1) {
                    assertThat(creditOfRankZero(rank, Counter.LL_DISPATCH_CREDIT))
                            .as("after the next dispatch")
                            .isOne();
                }
            });
        }
    }

    /** The caller has no event to await again, and a second call would be an operation more than on other ranks. */
    @Test
    void aSynchronousCallBehindWorkThatDoesNotEndInTimeNeedsRecovery() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                LowLatencyDispatchRequest second = request(rank).build();
                EpBuffer brief = rank.buffer().withOptions(OpOptions.DEFAULT.timeout(Duration.ofMillis(1)));
                EpEvent first = null;
                if (rank.number() == 0) {
                    first = dispatch(rank, false).event();
                    assertThatThrownBy(() -> brief.lowLatencyDispatch(second))
                            .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                                assertThat(e.failure().phase()).isEqualTo("event");
                                assertThat(e.recourse()).isEqualTo(EpException.Recourse.RECOVER);
                            });
                }
                rank.group().barrier(Guard.minute());
                first = first == null ? dispatch(rank, false).event() : first;
                first.await(Guard.minute());
            });
        }
    }

    @Test
    void sendingKernelOfACombineGivesNoCreditForItsOwnOperation() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                LowLatencyDispatchResult dispatched = dispatch(rank, true);
                dispatched.receive();
                CombineResult result = null;
                if (rank.number() == 0) {
                    mark(rank, COMBINE_TAKEN, 2);
                    result = combine(rank, dispatched.handle(), 1, true);
                    mark(rank, COMBINE_TAKEN, 0);
                }
                rank.group().barrier(Guard.minute());
                if (rank.number() == 1) {
                    assertThat(creditOfRankZero(rank, Counter.LL_COMBINE_CREDIT))
                            .as("after rank 0 has sent")
                            .isZero();
                }
                result = result == null ? combine(rank, dispatched.handle(), 1, true) : result;
                result.receive();
                combine(rank, dispatched.handle(), 1, true).receive();
                rank.group().barrier(Guard.minute());
                if (rank.number() == 1) {
                    assertThat(creditOfRankZero(rank, Counter.LL_COMBINE_CREDIT))
                            .as("after the next combine")
                            .isOne();
                }
            });
        }
    }

    @Test
    void aCombineIsNotSentIntoABankThatThePeerHasNotReceived() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                LowLatencyDispatchResult dispatched = dispatch(rank, true);
                dispatched.receive();
                LowLatencyHandle handle = dispatched.handle();
                CombineResult first = combine(rank, handle, 1, true);
                CombineResult second = combine(rank, handle, 2, true);
                CombineResult third = null;
                if (rank.number() == 0) {
                    first.receive();
                    second.receive();
                    third = combine(rank, handle, 4, false);
                    waits(third.event());
                }
                rank.group().barrier(Guard.minute());
                if (third == null) {
                    first.receive();
                    ByteBuffer sums = ByteBuffer.wrap(rank.read(first.out())).order(ByteOrder.nativeOrder());
                    while (sums.hasRemaining()) {
                        assertThat(sums.getShort()).as("twice 1").isEqualTo(DataType.toBf16(2));
                    }
                    second.receive();
                    third = combine(rank, handle, 4, false);
                }
                third.event().await(Guard.minute());
            });
        }
    }

    @Test
    void aRankThatRecoversEndsTheWaitsForIt() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                if (rank.number() == 0) {
                    EpEvent event = dispatch(rank, false).event();
                    rank.group().barrier(Guard.minute());
                    Guard.until(
                            "rank 1 recovers",
                            () -> gpu(rank).state().waits().absent().contains(1));
                    passMostOfTheTimeout(event);
                    assertThat(event.isDone()).as("before its timeout").isTrue();
                    assertThatThrownBy(() -> event.await(Guard.minute()))
                            .isInstanceOf(EpTimeoutException.class)
                            .hasMessageContainingAll("rank 1", "has begun a recovery", "receive cannot end");
                } else {
                    rank.group().barrier(Guard.minute());
                }
                rank.buffer().recover(Guard.minute());
            });
        }
    }

    /** Lets the time of a wait pass in steps, in each of which host and kernel look what they wait for. */
    private static void passMostOfTheTimeout(EpEvent event) {
        Duration step = GpuAgainstHost.TIMEOUT.dividedBy(50);
        for (int i = 0; i < 40 && !event.isDone(); i++) {
            pass(step, event);
            try {
                event.await(Duration.ofMillis(20));
            } catch (EpTimeoutException e) {
                // The timeout of this wait, or that of the operation, which the next wait throws again.
            }
        }
    }

    /** Lets time pass, and waits until the kernel before {@code event} has seen it. */
    private static void pass(Duration step, EpEvent event) {
        long looks = EmulatedGpu.looks();
        EmulatedGpu.pass(step);
        Guard.until("the kernel that waits has seen it", () -> {
            if (event.isDone() || EmulatedGpu.looks() > looks) {
                return true;
            }
            // A kernel that begins only now has the step in its clock from the start, and sees what passes later.
            EmulatedGpu.pass(Duration.ofNanos(1));
            return false;
        });
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
                    pass(step.negated(), result.event());
                    assertThat(result.event().isDone()).as("the wait has ended").isFalse();
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
