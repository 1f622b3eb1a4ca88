package org.ep4j.cli.fifo;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.ep4j.cli.report.BenchReport;
import org.ep4j.cli.report.TextFile;

/**
 * What {@code ci/fifo} has measured.
 *
 * @param producers who put commands
 * @param each producers of a ring
 * @param ringCommands of a ring
 * @param rates of commands
 * @param roundTrips from a producer to a proxy thread and back
 * @param collectors of garbage
 * @param collections during the measurement
 * @param collectionMillis that they took
 * @param garbage MB/s that were allocated beside it
 * @param problems where what was consumed is not what was put
 */
public record FifoReport(
        String producers,
        int each,
        int ringCommands,
        List<Rate> rates,
        List<RoundTrips> roundTrips,
        String collectors,
        long collections,
        long collectionMillis,
        int garbage,
        List<String> problems) {
    private static final int FORMAT = 1;

    /** Copies the lists. */
    public FifoReport {
        rates = List.copyOf(rates);
        roundTrips = List.copyOf(roundTrips);
        problems = List.copyOf(problems);
    }

    /**
     * Commands per second.
     *
     * @param threads that take
     * @param rings all together
     * @param commands of a run
     * @param by who takes: Java or C++
     * @param perSecond of each run
     */
    public record Rate(int threads, int rings, long commands, String by, List<Double> perSecond) {
        /** Copies the list. */
        public Rate {
            perSecond = List.copyOf(perSecond);
        }

        double median() {
            return perSecond.stream().sorted().toList().get(perSecond.size() / 2);
        }
    }

    /**
     * Times from a producer to a proxy thread and back, nanoseconds.
     *
     * @param by who takes: Java or C++
     * @param count of round trips
     */
    public record RoundTrips(String by, int count, long median, long p99, long p999, long max) {
        static RoundTrips of(String by, long[] nanos) {
            long[] sorted = nanos.clone();
            Arrays.sort(sorted);
            return new RoundTrips(
                    by, sorted.length, at(sorted, 0.5), at(sorted, 0.99), at(sorted, 0.999), sorted[sorted.length - 1]);
        }

        private static long at(long[] sorted, double part) {
            return sorted[Math.min(sorted.length - 1, (int) (part * sorted.length))];
        }
    }

    private Optional<Rate> rate(int threads, Consumers by) {
        return rates.stream()
                .filter(r -> r.threads() == threads && r.by().equals(by.text()))
                .findFirst();
    }

    /** For people. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(producers + ", producers per ring: " + each + ", ring capacity: " + ringCommands + " commands; "
                + "garbage collection by " + collectors + ": "
                + collections + " collections in " + collectionMillis + " ms; " + garbage
                + " MB/s allocated by an extra thread");
        lines.add("");
        lines.add("million commands a second, medians of "
                + rates.stream().mapToInt(r -> r.perSecond().size()).max().orElse(0) + " runs");
        lines.add("threads  rings    Java     C++  Java/C++");
        for (int threads :
                rates.stream().mapToInt(Rate::threads).distinct().sorted().toArray()) {
            double java = rate(threads, Consumers.JAVA).map(Rate::median).orElse(Double.NaN) / 1e6;
            double cpp = rate(threads, Consumers.CPP).map(Rate::median).orElse(Double.NaN) / 1e6;
            lines.add(String.format(
                    Locale.ROOT,
                    "%7d  %5d  %6s  %6s  %8s",
                    threads,
                    rate(threads, Consumers.JAVA).map(Rate::rings).orElse(0),
                    number(java),
                    number(cpp),
                    number(java / cpp)));
        }
        lines.add("");
        lines.add("round trip of one command and its answer, us");
        lines.add("        median      p99    p99.9       max  count");
        for (RoundTrips one : roundTrips) {
            lines.add(String.format(
                    Locale.ROOT,
                    "%-5s %8.2f %8.2f %8.2f %9.1f  %d",
                    one.by(),
                    one.median() / 1e3,
                    one.p99() / 1e3,
                    one.p999() / 1e3,
                    one.max() / 1e3,
                    one.count()));
        }
        problems.forEach(problem -> lines.add("WRONG " + problem));
        return lines;
    }

    private static String number(double value) {
        return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, "%.2f", value);
    }

    /** Writes it as JSON, with where and how it was measured. */
    public void write(Path file, BenchReport.Environment environment) {
        TextFile.writeJson(file, new Document(FORMAT, environment, this));
    }

    private record Document(int format, BenchReport.Environment environment, FifoReport fifo) {}
}
