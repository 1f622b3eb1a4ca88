package org.ep4j.cli.report;

import static org.ep4j.cli.report.TextTable.number;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.ep4j.cli.rank.RankMessage.Sent;
import org.ep4j.cli.rank.RankMessage.Writes;
import org.ep4j.cli.rank.WriteSpec;
import org.ep4j.tck.Json;

/**
 * What a measurement of counted writes found.
 *
 * @param path between which ranks, over which ports
 * @param writesPerCounter writes after which a counter advanced, where rates were measured
 * @param sizes figures of each size
 * @param sent what each queue pair sent, warm-up included
 * @param problems first bytes that arrived wrong
 */
public record WriteReport(
        org.ep4j.cli.rank.RankMessage.Path path,
        int writesPerCounter,
        List<Size> sizes,
        List<Sent> sent,
        List<String> problems) {
    private static final int FORMAT = 1;

    /**
     * Figures of one size, medians of the runs.
     *
     * @param bytes of a write
     * @param gigabytesPerSecond until everything had been acknowledged; GB are 1e9 bytes
     * @param writesPerSecond the same in writes
     * @param p50Micros half the time of a round trip of counted writes, median
     * @param p99Micros 99th percentile
     * @param runs everything that was measured
     */
    public record Size(
            int bytes,
            double gigabytesPerSecond,
            double writesPerSecond,
            double p50Micros,
            double p99Micros,
            Writes runs) {
        static Size of(Writes runs) {
            double seconds = median(runs.streamNanos()) / 1e9;
            return new Size(
                    runs.bytes(),
                    (double) runs.bytes() * runs.writes() / seconds / 1e9,
                    runs.writes() / seconds,
                    median(runs.p50Nanos()) / 1e3,
                    median(runs.p99Nanos()) / 1e3,
                    runs);
        }

        private static long median(List<Long> values) {
            List<Long> sorted = new ArrayList<>(values);
            Collections.sort(sorted);
            return sorted.get(sorted.size() / 2);
        }
    }

    public static WriteReport of(
            org.ep4j.cli.rank.RankMessage.Path path,
            WriteSpec spec,
            List<Writes> runs,
            List<Sent> sent,
            List<String> problems) {
        return new WriteReport(
                path, spec.writesPerCounter(), runs.stream().map(Size::of).toList(), sent, problems);
    }

    public String table() {
        TextTable table = new TextTable(List.of("bytes", "MB/s", "writes/s", "p50 us", "p99 us"));
        for (Size size : sizes) {
            table.row(List.of(
                    Integer.toString(size.bytes()),
                    number("%.2f", size.gigabytesPerSecond() * 1e3),
                    number("%.0f", size.writesPerSecond()),
                    number("%.2f", size.p50Micros()),
                    number("%.2f", size.p99Micros())));
        }
        return table.toString();
    }

    /** Writes it as JSON, with where and how it was measured. */
    public void write(Path file, BenchReport.Environment environment) {
        TextFile.writeJson(file, Json.fields("format", FORMAT, "environment", environment, "writes", this));
    }
}
