package org.ep4j.cli.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.EpGroup;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.cli.rank.RankMessage.Samples;
import org.ep4j.cli.rank.RowStep.Casts;
import org.ep4j.cli.rank.RowStep.Copies;
import org.ep4j.cli.rank.RowStep.Sums;
import org.ep4j.config.EpConfig;
import org.ep4j.tck.oracle.Arena;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class HostCeilingTest {
    private static final int HIDDEN = 128;
    private static final long ROW = 2L * HIDDEN;

    /** Ways in which steps were measured, all of them once. */
    private static Set<String> ways(List<RowStep> steps) {
        EpConfig config = EpConfig.builder().set("ep.device", "host").build();
        Recorder recorder = new Recorder(() -> {});
        recorder.counting(true);
        try (EpGroup group = EpGroup.join(Bootstraps.inProcess(1).get(0), config);
                Arena arena = new Arena(group.device())) {
            new HostCeiling(arena, HIDDEN).measure(recorder, "op", new Recorder.Volume(1, 0, ROW), steps);
        }
        assertThat(recorder.samples()).allMatch(samples -> samples.nanos().size() == 1);
        return recorder.samples().stream().map(Samples::operation).collect(Collectors.toSet());
    }

    private static boolean inNativeCode() {
        return ways(List.of(new Sums(new int[] {2}, false, ROW))).size() == 2;
    }

    @Test
    void copiesAreMeasuredRowByRowAndInOneCopy() {
        Set<String> ways = ways(List.of(new Copies("send", new int[] {2, 0, 1}, ROW)));
        assertThat(ways).contains("op/ceiling: send plain", "op/ceiling: send in one copy");
        assertThat(ways.contains("op/ceiling: send non-temporal")).isEqualTo(inNativeCode());
    }

    @Test
    void severalStepsAreMeasuredWithEveryCombinationOfStores() {
        Set<String> ways = ways(
                List.of(new Casts(3, HIDDEN), Copies.of("send", 2, HIDDEN), new Sums(new int[] {1, 0, 5}, true, ROW)));
        assertThat(ways).contains("op/ceiling: cast plain, send plain, sum plain");
        assertThat(ways).hasSize(inNativeCode() ? 4 : 1);
    }

    @Test
    void rowsThatDoNotFitIntoTheMemoryGetMore() {
        int rows = (int) ((160L << 20) / ROW);
        assertThat(ways(List.of(Copies.of("send", rows, ROW)))).contains("op/ceiling: send plain");
    }
}
