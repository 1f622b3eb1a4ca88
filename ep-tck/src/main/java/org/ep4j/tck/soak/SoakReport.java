package org.ep4j.tck.soak;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.tck.Json;

/**
 * The results of a soak.
 *
 * @param rounds rounds that ended
 * @param exchanges dispatches with their combines, on all ranks together, all of whose elements were compared
 * @param faults rounds by fault
 * @param recoveries longest recovery of any rank in each round that had one
 * @param learned times from when a stopped process continued until its rank found that the others had left it out
 * @param problems in the order in which they were found
 * @param files files of ep4j that were left in shared memory
 * @param elapsed time of the whole run
 */
public record SoakReport(
        long rounds,
        long exchanges,
        Map<Fault, Long> faults,
        Times recoveries,
        Times learned,
        List<Problem> problems,
        List<String> files,
        Duration elapsed) {
    /** The kinds of problems of a round, the worst first. */
    public enum Kind {
        /** An element differed from the oracle's. */
        WRONG_ROW,
        /** An operation, a recovery or the round did not end in time. */
        HANG,
        /** A rank failed in another way, for example with an exception that the fault does not explain. */
        FAILURE,
        /** A rank holds more after the round than before. */
        LEAK
    }

    /**
     * A problem of one round.
     *
     * @param seed of the round
     * @param fault of the round
     * @param kind of the problem
     * @param detail of the rank that failed first, and of the others; with stack traces
     */
    public record Problem(long seed, Fault fault, Kind kind, String detail) {}

    /**
     * Durations of one kind.
     *
     * @param ascending the durations, sorted
     */
    public record Times(List<Duration> ascending) {
        /** Copies and sorts. */
        public Times {
            ascending = ascending.stream().sorted().toList();
        }

        /**
         * Returns a quantile; empty without any duration.
         *
         * @param share from 0 to 1: 0.5 for the median, 1 for the longest
         */
        public Optional<Duration> quantile(double share) {
            int place = (int) Math.ceil(share * ascending.size()) - 1;
            return ascending.isEmpty() ? Optional.empty() : Optional.of(ascending.get(Math.max(0, place)));
        }

        private Map<String, Object> toMap() {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("number", ascending.size());
            quantile(0.5).ifPresent(time -> map.put("p50_ms", millis(time)));
            quantile(0.99).ifPresent(time -> map.put("p99_ms", millis(time)));
            quantile(1).ifPresent(time -> map.put("max_ms", millis(time)));
            return map;
        }

        private static double millis(Duration time) {
            return time.toNanos() / 1e6;
        }
    }

    /** Copies the collections, which the run still changes. */
    public SoakReport {
        faults = Map.copyOf(faults);
        problems = List.copyOf(problems);
        files = List.copyOf(files);
    }

    /** Returns whether rounds have run without a problem. */
    public boolean passed() {
        return rounds > 0 && problems.isEmpty() && files.isEmpty();
    }

    /** Returns the number of rounds with a problem of a kind. */
    public long count(Kind kind) {
        return problems.stream().filter(problem -> problem.kind() == kind).count();
    }

    /**
     * Returns the report as JSON.
     *
     * @param request of the run
     */
    public String toJson(SoakRequest request) {
        Map<String, Object> root = Json.fields(
                "passed", passed(),
                "backend", request.subject().backend(),
                "device", request.subject().device(),
                "ranks", request.ranks(),
                "settings", request.subject().settings(),
                "seed", request.seed(),
                "rounds", rounds,
                "exchanges", exchanges);
        Map<String, Long> byFault = new LinkedHashMap<>();
        new TreeMap<>(faults).forEach((fault, number) -> byFault.put(fault.toString(), number));
        root.put("faults", byFault);
        root.put("recoveries", recoveries.toMap());
        root.put("left_out_ranks_learned", learned.toMap());
        for (Kind kind : Kind.values()) {
            root.put(kind.name().toLowerCase(Locale.ROOT), count(kind));
        }
        root.put(
                "problems",
                problems.stream()
                        .map(problem -> Json.fields(
                                "seed", problem.seed(),
                                "fault", problem.fault().toString(),
                                "kind", problem.kind(),
                                "detail", problem.detail()))
                        .toList());
        root.put("files", files);
        root.put("seconds", elapsed.toMillis() / 1e3);
        return Json.of(root);
    }
}
