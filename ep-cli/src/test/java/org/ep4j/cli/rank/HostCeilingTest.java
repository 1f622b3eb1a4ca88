package org.ep4j.cli.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ShortBuffer;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.DataType;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.cli.rank.RankMessage.Samples;
import org.ep4j.engine.rows.Rows;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class HostCeilingTest {
    private static final int HIDDEN = 128;
    private static final long ROW = 2L * HIDDEN;

    private static final long AREA = 1 << 20;

    private final EpGroup group = EpGroup.join(
            Bootstrap.inProcess(1).get(0),
            EpConfig.builder().set("ep.device", "host").build());
    private final Arena arena = new Arena(group.device());
    private final HostCeiling ceiling = new HostCeiling(arena, HIDDEN, AREA);
    private final boolean inNativeCode = Rows.of(EpConfig.builder().build()).isNative();

    @AfterEach
    void free() {
        arena.close();
        group.close();
    }

    /** Ways in which steps were measured, each once. */
    private Set<String> ways(RowStep... steps) {
        Recorder recorder = new Recorder(System::nanoTime);
        recorder.counting(true);
        ceiling.measure(recorder, "op", new Recorder.Volume(1, 0, ROW), List.of(steps));
        assertThat(recorder.samples()).allMatch(samples -> samples.nanos().size() == 1);
        return recorder.samples().stream().map(Samples::operation).collect(Collectors.toSet());
    }

    /** Numbers of BF16 channels of the target that are inside a range. */
    private long channels(float least, float below) {
        HostMemory target = ceiling.target();
        byte[] bytes = new byte[(int) target.size()];
        target.getBytes(0, bytes, 0, bytes.length);
        ShortBuffer channels =
                ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).asShortBuffer();
        return IntStream.range(0, channels.capacity())
                .mapToObj(i -> DataType.fromBf16(channels.get(i)))
                .filter(value -> value >= least && value < below)
                .count();
    }

    private void clear() {
        ceiling.target().zero(0, ceiling.target().size());
    }

    @Test
    void copiesWriteRowsOfTheSourceOneByOneAndInOneCopy() {
        clear();
        Set<String> ways = ways(RowStep.copies("send", new int[] {2, 0, 1}, ROW));
        assertThat(ways).contains("op/ceiling: send plain", "op/ceiling: send in one copy");
        assertThat(ways.contains("op/ceiling: send non-temporal")).isEqualTo(inNativeCode);
        assertThat(channels(1, 2)).isEqualTo(ways.size() * 3L * HIDDEN);
    }

    @Test
    void sumsAddNeighbouringRows() {
        clear();
        Set<String> ways = ways(RowStep.sums(new int[] {3, 3}, false, ROW));
        assertThat(ways).hasSize(inNativeCode ? 2 : 1);
        assertThat(channels(3, 6)).isEqualTo(ways.size() * 2L * HIDDEN);
    }

    /** The sum reads the two rows that were copied, and six others. */
    @Test
    void stepsReadWhatWasWrittenBeforeAsFarAsItGoes() {
        clear();
        Set<String> ways = ways(RowStep.copies("send", 2, ROW), RowStep.sums(new int[] {8}, true, ROW));
        assertThat(ways).hasSize(inNativeCode ? 4 : 1).contains("op/ceiling: send plain, sum plain");
        assertThat(channels(1, 2)).isEqualTo(ways.size() * 3L * HIDDEN);
    }

    @Test
    void castsHaveOneWay() {
        assertThat(ways(RowStep.casts(3, HIDDEN), RowStep.copies("send", 2, HIDDEN)))
                .hasSize(inNativeCode ? 2 : 1)
                .contains("op/ceiling: cast plain, send plain");
    }

    @Test
    void rowsThatDoNotFitIntoTheMemoryGetMore() {
        int rows = (int) (2 * AREA / ROW);
        assertThat(ways(RowStep.copies("send", rows, ROW))).contains("op/ceiling: send plain");
        assertThat(ceiling.target().size()).isGreaterThan(2 * AREA);
    }
}
