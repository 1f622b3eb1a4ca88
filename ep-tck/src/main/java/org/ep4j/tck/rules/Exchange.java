package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.OpOptions;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;

/** What exchanges of one rank share in both modes: inputs, oracle, and options of operations. */
abstract class Exchange implements AutoCloseable {
    final EpBuffer buffer;
    final int rank;
    final Workload workload;
    final Set<Integer> masked;
    final Arena arena;
    final Inputs inputs;
    final Verifier verifier;
    private final boolean async;
    private final long stream;
    private Optional<Duration> timeout = Optional.empty();

    Exchange(RankContext context, EpBuffer buffer, Workload workload, Set<Integer> masked, boolean async, long stream) {
        this.buffer = buffer;
        this.rank = context.rank();
        this.workload = workload;
        this.masked = masked;
        this.arena = new Arena(buffer.group().device());
        this.inputs = new Inputs(arena, workload);
        this.verifier = new Verifier(arena);
        this.async = async;
        this.stream = stream;
    }

    /** Operations from now on end by themselves after this time, and not after the setting's. */
    void endAfter(Duration longest) {
        timeout = Optional.of(longest);
    }

    /** The buffer for operations that run as this exchange asks, after {@code late}. */
    EpBuffer buffer(LateInputs late) {
        OpOptions how = late.options(timeout.map(OpOptions.DEFAULT::timeout).orElse(OpOptions.DEFAULT));
        return buffer.withOptions(
                async
                        ? how.onStream(AsyncStream.of(stream, arena, buffer.group()))
                                .asynchronous()
                        : how.onStream(stream));
    }

    @Override
    public void close() {
        arena.close();
    }
}
