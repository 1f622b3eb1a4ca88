package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import org.ep4j.EpShape;
import org.ep4j.WireFormat;
import org.ep4j.engine.buffer.LowLatencyFormat;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is said where two ranks call different operations. */
@Tag("verify")
class AnnouncementsTest {
    private final Mask mask = Mask.NONE;

    @Test
    void namesOperationsWithoutOptionsAlone() {
        assertThat(highThroughput(words(5, 3, 0, 4), words(5, 1, 0, 0)))
                .isEqualTo("rank 1 calls dispatch, this rank calls combine rows (routing of dispatch 4);"
                        + " all ranks must call the operations of a buffer in the same order with matching requests");
    }

    @Test
    void namesOptionsOfDispatchAndCombine() {
        assertThat(highThroughput(words(5, 2, 7, 4), words(5, 4, 1, 3)))
                .startsWith("rank 1 calls combine selections (weights, routing of dispatch 3), this rank calls"
                        + " cached dispatch (FP8 rows, weights, FNUZ codes, routing of dispatch 4); all");
    }

    @Test
    void keepsOptionThatHasNoNameAsNumber() {
        assertThat(highThroughput(words(5, 1, 8, 0), words(5, 1, 0, 0)))
                .contains("this rank calls dispatch (options 0x8)");
    }

    @Test
    void namesFormatsAndWeightsOfLowLatencyDispatch() {
        EpShape shape = EpShape.builder(128, 8, 2).maxTokens(4).build();
        for (WireFormat format : EnumSet.complementOf(EnumSet.of(WireFormat.LOGFMT10))) {
            int code = new LowLatencyFormat(format, shape).code();
            assertThat(lowLatency(true, new long[] {7, code | 1 << 8, 0, 0, 0}, new long[] {7, code, 0, 0, 1}))
                    .startsWith("rank 1 calls low-latency dispatch number 7 (" + format
                            + "), this rank calls number 7 (" + format + ", weights); all");
        }
    }

    @Test
    void namesDispatchOfLowLatencyCombine() {
        assertThat(lowLatency(false, new long[] {7, 0, 0, 0, 9}, new long[] {7, 3, 0, 0, 8}))
                .startsWith("rank 1 calls low-latency combine number 7 (of dispatch 8, partial sums, log format),"
                        + " this rank calls number 7 (of dispatch 9); all");
    }

    private String highThroughput(long[] mine, long[] theirs) {
        return Announcements.highThroughput("rank 1", mask, mine, theirs).getMessage();
    }

    private String lowLatency(boolean dispatch, long[] mine, long[] theirs) {
        return Announcements.lowLatency("rank 1", mask, dispatch, mine, theirs).getMessage();
    }

    private static long[] words(long number, long kind, long options, long handle) {
        return new long[] {number, kind, options, handle, 0};
    }
}
