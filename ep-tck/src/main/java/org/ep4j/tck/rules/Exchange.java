package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.EpEvent;
import org.ep4j.EpGroup;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;

/**
 * Inputs, oracle and options of one exchange of one rank, without the ranks that the caller expects the buffer to have masked.
 * Parameters of both modes: {@code precision} of the combine; {@code id64}; {@code out} (rows, and in low latency scales, in
 * tensors of the caller); {@code outs} (all that results return in tensors of the caller); {@code
 * zerocopy} (expert outputs in the buffer's own memory); {@code async}; {@code after} (inputs that arrive late, with an event); {@code
 * stream} (native stream of a GPU); {@code multiprocessors} (another number for each call and rank).
 */
abstract class Exchange implements AutoCloseable {
    final EpBuffer buffer;
    final int rank;
    final Workload workload;
    final Set<Integer> masked;
    final Arena arena;
    final Inputs inputs;
    final Verifier verifier;
    final Params params;
    final CombinePrecision precision;
    final DataType idType;
    final boolean zeroCopy;
    private final boolean async;
    private Optional<Duration> timeout = Optional.empty();
    private int calls;

    Exchange(RankContext context, EpBuffer buffer, Workload workload, Params params, Set<Integer> masked) {
        this.buffer = buffer;
        this.rank = context.rank();
        this.workload = workload;
        this.masked = Set.copyOf(masked);
        this.arena = new Arena(buffer.group().device());
        this.inputs = new Inputs(arena, workload);
        this.verifier = new Verifier(arena);
        this.params = params;
        this.precision = params.one(CombinePrecision.class, "precision", CombinePrecision.EXACT);
        this.idType = params.has("id64") ? DataType.INT64 : DataType.INT32;
        this.zeroCopy = params.has("zerocopy");
        this.async = params.has("async");
    }

    /** Sets the timeout of all later operations, in place of the setting. */
    void timeout(Duration limit) {
        timeout = Optional.of(limit);
    }

    /** Returns the buffer with the options of this exchange, for operations whose inputs are {@code late}. */
    EpBuffer buffer(LateInputs late) {
        OpOptions options = late.options(
                multiprocessors(timeout.map(OpOptions.DEFAULT::timeout).orElse(OpOptions.DEFAULT)));
        long stream = params.longNumber("stream", 0);
        return buffer.withOptions(
                async
                        ? options.onStream(asyncStream(stream, arena, buffer.group()))
                                .asynchronous()
                        : options.onStream(stream));
    }

    /** Adds the number of the next call: within the buffer's own, with which all kernels have room; the host ignores it. */
    private OpOptions multiprocessors(OpOptions options) {
        int asked = params.number("multiprocessors", 0);
        if (asked == 0) {
            return options;
        }
        int drawn = asked + rank + calls++;
        int most = Math.min(buffer.size().highThroughputSms(), buffer.size().lowLatencySms());
        return options.multiprocessors(most == 0 ? drawn : 1 + drawn % most);
    }

    /** Awaits the event of an asynchronous operation. */
    void await(EpEvent event) {
        if (async) {
            event.await(Checks.patience());
            Checks.that(event.isDone(), "an event is not done although await() returned");
        }
    }

    /** Returns a tensor for rows, if the exchange gives one to its operations. */
    Optional<Tensor> target(DataType type, long... dims) {
        return params.has("out") || params.has("outs") ? Optional.of(arena.allocate(type, dims)) : Optional.empty();
    }

    /** Returns a tensor for what goes with rows, if the exchange gives one to its operations. */
    Optional<Tensor> besides(DataType type, long... dims) {
        return params.has("outs") ? Optional.of(arena.allocate(type, dims)) : Optional.empty();
    }

    static void checkAddress(String what, Supplier<Tensor> result, Optional<Tensor> target) {
        target.ifPresent(given -> Checks.equal(
                "address of " + what + " with a tensor of the caller",
                result.get().address(),
                given.address()));
    }

    CombineOracle oracle(Set<Integer> without) {
        return new CombineOracle(workload, workload.randomOutputs(), without);
    }

    /**
     * Returns the stream for an asynchronous operation: {@code asked}, or a stream of the arena's own in the place of a default stream
     * where other ranks of the process share the GPU. Streams 0 and 1 are common to these ranks, and the kit copies on stream 0, which
     * stream 2 waits for.
     */
    static long asyncStream(long asked, Arena arena, EpGroup group) {
        return asked <= 2 && GpuDevice.isGpu(group.device()) && isShared(group) ? arena.stream() : asked;
    }

    private static boolean isShared(EpGroup group) {
        List<RankProfile> all = GroupPlan.of(group.plan()).profiles();
        RankProfile mine = all.get(group.rank());
        return all.stream()
                .anyMatch(other -> other.rank() != mine.rank()
                        && machine(other).equals(machine(mine))
                        && other.pid() == mine.pid()
                        && other.device().equals(mine.device()));
    }

    /** Returns the host without the number that {@code ep.host.ranks} adds. */
    private static String machine(RankProfile rank) {
        return rank.hostId().replaceFirst("/\\d+$", "");
    }

    @Override
    public void close() {
        arena.close();
    }
}
