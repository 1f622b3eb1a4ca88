package org.ep4j.cli.report;

import static org.ep4j.cli.report.TextTable.column;
import static org.ep4j.cli.report.TextTable.number;

import java.nio.file.Path;
import java.util.List;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.Sent;
import org.ep4j.cli.rank.RankMessage.Validated;
import org.ep4j.cli.rank.RankMessage.Writes;
import org.ep4j.cli.rank.WriteSpec;
import org.ep4j.tck.Json;

/**
 * Result of a measurement of counted writes, as it stands in the JSON.
 *
 * @param path between which ranks, over which ports
 * @param writesPerCounter writes after which a counter advanced, where rates were measured
 * @param sizes figures of each size
 * @param sent what each queue pair sent, warm-up included
 * @param problems first bytes that arrived wrong
 */
public record WriteReport(
        RankMessage.Path path, int writesPerCounter, List<Size> sizes, List<Sent> sent, List<String> problems) {
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
            return values.stream().sorted().toList().get(values.size() / 2);
        }
    }

    /** Puts together the messages of all ranks. */
    public static WriteReport of(WriteSpec spec, List<List<RankMessage>> messages) {
        return new WriteReport(
                RankMessage.all(messages, RankMessage.Path.class).get(0),
                spec.writesPerCounter(),
                RankMessage.all(messages, Writes.class).stream().map(Size::of).toList(),
                RankMessage.all(messages, Sent.class),
                RankMessage.all(messages, Validated.class).stream()
                        .map(Validated::problem)
                        .filter(problem -> !problem.isEmpty())
                        .toList());
    }

    public String table() {
        return TextTable.of(
                        sizes,
                        List.of(
                                column("bytes", size -> Integer.toString(size.bytes())),
                                column("MB/s", size -> number("%.2f", size.gigabytesPerSecond() * 1e3)),
                                column("writes/s", size -> number("%.0f", size.writesPerSecond())),
                                column("p50 us", size -> number("%.2f", size.p50Micros())),
                                column("p99 us", size -> number("%.2f", size.p99Micros()))))
                .toString();
    }

    /** Writes it as JSON, with where and how it was measured. */
    public void write(Path file, BenchReport.Environment environment) {
        TextFile.writeJson(file, Json.fields("format", FORMAT, "environment", environment, "writes", this));
    }
}
