package org.ep4j.cli.rank;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpGroup;
import org.ep4j.cli.rank.RankMessage.Validated;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Verifier;

/** What the exchanges of one rank share. Its allocations live until it is closed. */
final class RankContext implements AutoCloseable {
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

    private final WorkSpec spec;
    private final EpGroup group;
    private final EpBuffer buffer;
    private final Recorder recorder;
    private final Checks checks = new Checks();
    private final Optional<HostCeiling> ceiling;
    private final Arena arena;
    private final Verifier verifier;

    RankContext(WorkSpec spec, EpGroup group, EpBuffer buffer, Recorder recorder) {
        this.spec = spec;
        this.group = group;
        this.buffer = buffer;
        this.recorder = recorder;
        this.arena = new Arena(group.device());
        this.verifier = new Verifier(arena);
        this.ceiling = spec.measureCeiling() ? Optional.of(new HostCeiling(arena, spec.hidden())) : Optional.empty();
    }

    WorkSpec spec() {
        return spec;
    }

    EpBuffer buffer() {
        return buffer;
    }

    EpDevice device() {
        return group.device();
    }

    int rank() {
        return group.rank();
    }

    Recorder recorder() {
        return recorder;
    }

    Checks checks() {
        return checks;
    }

    /** Memory of this rank, outside the buffer. */
    Arena arena() {
        return arena;
    }

    Verifier verifier() {
        return verifier;
    }

    /** Does the steps of an operation in memory of this rank, where ceilings are measured. */
    void ceiling(String operation, Recorder.Volume volume, Supplier<List<RowStep>> steps) {
        ceiling.ifPresent(c -> c.measure(recorder, operation, volume, steps.get()));
    }

    @Override
    public void close() {
        arena.close();
    }
}
