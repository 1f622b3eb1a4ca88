package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.ep4j.Device;
import org.ep4j.EpBuffer;
import org.ep4j.OpOptions;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;

/**
 * One dispatch and its combine on one rank, each result compared with the oracle. A result that is wrong is reported, and the
 * exchange goes on, since other ranks wait for its combine.
 */
abstract class Exchange implements AutoCloseable {
    final EpBuffer buffer;
    final ExchangePlan plan;
    final Workload workload;
    final int rank;
    final Set<Integer> masked;
    final Arena arena;
    final Inputs inputs;
    final Verifier verifier;
    private final BiConsumer<String, String> wrong;
    private final Duration patience;
    private String operation = "";
    private long elements;

    /**
     * An exchange that can begin.
     *
     * @param patience longest wait for an event: beyond the timeout of operations
     * @param wrong takes the operation whose result is wrong, and the first difference
     */
    Exchange(EpBuffer buffer, ExchangePlan plan, Duration patience, BiConsumer<String, String> wrong) {
        this.buffer = buffer;
        this.plan = plan;
        this.workload = plan.workload();
        this.rank = buffer.group().rank();
        this.masked = buffer.maskedRanks();
        this.arena = new Arena(buffer.group().device());
        this.inputs = new Inputs(arena, workload);
        this.verifier = new Verifier(arena);
        this.patience = patience;
        this.wrong = wrong;
    }

    /** Makes the one that a plan asks for. */
    static Exchange of(EpBuffer buffer, ExchangePlan plan, Duration patience, BiConsumer<String, String> wrong) {
        return plan.lowLatency()
                ? new LowLatencyExchange(buffer, plan, patience, wrong)
                : new HighThroughputExchange(buffer, plan, patience, wrong);
    }

    /** Dispatches and combines. */
    abstract void run();

    /** Names the operation that begins, for reports. */
    final void begin(String name) {
        operation = name;
    }

    /** The operation that was begun last. */
    final String operation() {
        return operation;
    }

    /** Elements that were compared. */
    final long elements() {
        return elements;
    }

    /** Counts what a comparison compares, or reports what it finds. */
    final void compare(LongSupplier comparison) {
        try {
            elements += comparison.getAsLong();
        } catch (AssertionError e) {
            wrong.accept(operation, String.valueOf(e.getMessage()));
        }
    }

    /** What an expert does meanwhile. */
    final void hold() {
        Pause.millis(plan.holdMillis().get(rank));
    }

    /** Options of an operation; only the host runs them behind the caller's thread without a stream. */
    final OpOptions options(boolean async) {
        return isAsync(async) ? OpOptions.DEFAULT.asynchronous() : OpOptions.DEFAULT;
    }

    final boolean isAsync(boolean asked) {
        return asked && buffer.group().device().id().type().equals(Device.HOST.type());
    }

    final Duration patience() {
        return patience;
    }

    @Override
    public void close() {
        arena.close();
    }
}
