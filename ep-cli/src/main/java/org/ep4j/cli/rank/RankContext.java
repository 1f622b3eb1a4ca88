package org.ep4j.cli.rank;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.cli.rank.RankMessage.Validated;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Verifier;

/**
 * Objects that the exchanges of one rank share.
 *
 * @param hostCeiling empty where ceilings are not measured
 * @param arena memory of this rank outside the buffer, which lives until this is closed
 */
record RankContext(
        ExchangeSpec spec,
        EpGroup group,
        EpBuffer buffer,
        Recorder recorder,
        Checks checks,
        Optional<HostCeiling> hostCeiling,
        Arena arena,
        Verifier verifier)
        implements AutoCloseable {
    /** Counts what was compared with the reference, and keeps each operation's first difference. */
    static final class Checks {
        private final Map<String, Validated> results = new LinkedHashMap<>();

        /** Runs a comparison that returns how many elements it compared and throws an error at the first difference. */
        void check(String operation, LongSupplier comparison) {
            Validated before = results.getOrDefault(operation, new Validated(operation, 0, ""));
            long elements = 0;
            String problem = before.problem();
            try {
                elements = comparison.getAsLong();
            } catch (AssertionError e) {
                problem = problem.isEmpty() ? String.valueOf(e.getMessage()) : problem;
            }
            results.put(operation, new Validated(operation, before.elements() + elements, problem));
        }

        List<Validated> results() {
            return List.copyOf(results.values());
        }
    }

    static RankContext of(ExchangeSpec spec, EpGroup group, EpBuffer buffer, Recorder recorder) {
        Arena arena = new Arena(group.device());
        Optional<HostCeiling> ceiling = spec.measureCeiling()
                ? Optional.of(new HostCeiling(arena, spec.hidden(), HostCeiling.AREA_BYTES))
                : Optional.empty();
        return new RankContext(spec, group, buffer, recorder, new Checks(), ceiling, arena, new Verifier(arena));
    }

    int rank() {
        return group.rank();
    }

    /** Does the steps of an operation in memory of this rank, where ceilings are measured, and not in rounds for allocations. */
    void ceiling(String operation, Recorder.Volume volume, Supplier<List<RowStep>> steps) {
        if (!recorder.isAllocating()) {
            hostCeiling.ifPresent(c -> c.measure(recorder, operation, volume, steps.get()));
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
