package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** What has happened in a run so far. Not safe for use from several threads. */
public final class Statistics {
    private static final int KEPT_PROBLEMS = 200;

    private final Map<Fault, Integer> rounds = new EnumMap<>(Fault.class);
    private final Map<Fault, List<Long>> recoveries = new EnumMap<>(Fault.class);
    private final List<Long> told = new ArrayList<>();
    private final Map<Problem.Kind, Integer> counts = new EnumMap<>(Problem.Kind.class);
    private final List<Problem> problems = new ArrayList<>();
    private long exchanges;
    private long elements;

    /**
     * Times of one kind.
     *
     * @param count how many there are
     * @param p50Millis median; 0 when there are none, as the others
     * @param p99Millis 99th percentile
     * @param maxMillis longest
     */
    public record Times(int count, long p50Millis, long p99Millis, long maxMillis) {
        static Times of(List<Long> millis) {
            long[] sorted = millis.stream().mapToLong(Long::longValue).toArray();
            Arrays.sort(sorted);
            return new Times(sorted.length, at(sorted, 50), at(sorted, 99), at(sorted, 100));
        }

        /** Nearest rank: the smallest value that so many percent of all do not exceed. */
        private static long at(long[] sorted, int percent) {
            if (sorted.length == 0) {
                return 0;
            }
            return sorted[Math.max(0, (sorted.length * percent + 99) / 100 - 1)];
        }
    }

    void roundEnded(Fault fault) {
        rounds.merge(fault, 1, Integer::sum);
    }

    void ran(int count, long compared) {
        exchanges += count;
        elements += compared;
    }

    void recovered(Fault fault, Duration time) {
        recoveries.computeIfAbsent(fault, f -> new ArrayList<>()).add(time.toMillis());
    }

    void told(Duration time) {
        told.add(time.toMillis());
    }

    void problem(Problem problem) {
        counts.merge(problem.kind(), 1, Integer::sum);
        if (problems.size() < KEPT_PROBLEMS) {
            problems.add(problem);
        }
    }

    /** Rounds that have ended. */
    public int rounds() {
        return rounds.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** The same by fault. */
    public Map<Fault, Integer> roundsByFault() {
        return new EnumMap<>(rounds);
    }

    /** From a fault until all survivors had recovered, by fault. */
    public Map<Fault, Times> recoveriesByFault() {
        Map<Fault, Times> times = new EnumMap<>(Fault.class);
        recoveries.forEach((fault, millis) -> times.put(fault, Times.of(millis)));
        return times;
    }

    /** The same of all faults. */
    public Times recoveries() {
        return Times.of(recoveries.values().stream().flatMap(List::stream).toList());
    }

    /** From SIGCONT until the rank was told that it is out. */
    public Times toldTimes() {
        return Times.of(told);
    }

    /** Exchanges, counted once on every rank. */
    public long exchanges() {
        return exchanges;
    }

    /** Elements that were compared. */
    public long elements() {
        return elements;
    }

    /** How often something happened. */
    public int count(Problem.Kind kind) {
        return counts.getOrDefault(kind, 0);
    }

    /** The first problems. */
    public List<Problem> problems() {
        return List.copyOf(problems);
    }

    /** True when nothing happened that must not. */
    public boolean passed() {
        return counts.isEmpty();
    }
}
