package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.cli.rank.RankMessage.Samples;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class FigureTableTest {
    private static List<String> columnsOfADemo(boolean timed) {
        Samples samples = new Samples("ll.dispatch", List.of(1000L), List.of(4L), List.of(1L), 64, List.of());
        Figures figures = Figures.of(List.of(samples), Map.of(), List.of());
        String table = FigureTable.demo(Map.of("ll", 4), List.of(figures), timed);
        return List.of(table.lines().findFirst().orElseThrow().split(" {2,}", -1));
    }

    @Test
    void aDemoThatIsNotTimedHasNeitherTimesNorRates() {
        assertThat(columnsOfADemo(true)).contains("us", "GB/s", "wire GB/s");
        assertThat(columnsOfADemo(false)).containsExactly("operation", "tokens", "rows", "MB", "compared", "result");
    }
}
