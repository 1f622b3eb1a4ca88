package org.ep4j.engine.host;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.BufferSize;
import org.ep4j.DispatchLayout;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpPlan;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.buffer.BufferContext;
import org.ep4j.engine.buffer.BufferState;
import org.ep4j.engine.buffer.EngineBuffer;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.rows.Rows;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Relays;
import org.ep4j.engine.sync.Waits;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.Futex;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.HostViews;

/** Creates buffers of the host engine. */
public final class HostBuffers {
    private HostBuffers() {}

    /**
     * Size of a buffer on {@code rank}, on the host and on GPUs: layouts are the same, and both number rows and selections with
     * 32 bits.
     *
     * @param relays of the plan; posted paths take more
     * @throws EpArgumentException when the shape does not fit the group
     */
    public static BufferSize size(EpShape shape, int ranks, int rank, Relays relays) {
        ExpertPlacement placement = ShapeSizes.placement(shape, ranks);
        checkIndexable("rows that can be received * topK", ShapeSizes.receivedRows(shape, ranks) * shape.topK());
        for (int r = 0; r < ranks; r++) {
            checkIndexable(
                    "local experts * ranks * maxLowLatencyTokens",
                    placement.localExperts(r) * ShapeSizes.lowLatencyRows(shape, ranks));
            if (shape.maxTokens() > 0 && shape.layouts().contains(RowLayout.BY_EXPERT)) {
                checkIndexable(
                        "by-expert rows",
                        LocalLayout.expandedCapacity(
                                shape, ranks, placement.localExperts(r), EpShape.MAX_EXPERT_ALIGNMENT));
            }
        }
        return BufferSize.of(
                layout(shape, ranks, relays).bytes(),
                new LocalLayout(shape, placement, rank).parts(),
                shape.preallocated());
    }

    private static BufferLayout layout(EpShape shape, int ranks, Relays relays) {
        return new BufferLayout(shape, ranks, relays.isPosted(), relays.maxSources());
    }

    private static void checkIndexable(String what, long count) {
        if (count > Integer.MAX_VALUE - 64) {
            throw new EpArgumentException(
                    what,
                    count,
                    "at most " + (Integer.MAX_VALUE - 64) + ", since rows and selections are numbered with 32 bits",
                    "lower maxTokens, maxReceivedRows or maxLowLatencyTokens");
        }
    }

    /**
     * Counts the tokens that a dispatch of ids in host memory would send to each rank, host and expert.
     *
     * @param topkIds {@code [tokens, K]}
     * @throws EpArgumentException when an id is neither -1 nor an expert's
     */
    public static DispatchLayout dispatchLayout(Tensor topkIds, int tokens, BufferState state, EpPlan plan) {
        EpShape shape = state.shape();
        ExpertPlacement placement = state.placement();
        Routing routing = new Routing(shape.topK(), placement.ranks());
        new RoutingReader(shape, placement)
                .read(
                        topkIds,
                        HostMemory.of(topkIds.memory()),
                        tokens,
                        state.waits().mask(),
                        routing);
        int hosts = IntStream.range(0, plan.ranks()).map(plan::host).max().orElse(0) + 1;
        DispatchLayout.Builder layout = DispatchLayout.builder(tokens, placement.ranks(), hosts, shape.experts());
        for (int i = 0; i < tokens * shape.topK(); i++) {
            int expert = routing.ids[i];
            if (expert >= 0) {
                int rank = placement.rankOf(expert);
                layout.select(i / shape.topK(), expert, rank, plan.host(rank));
            }
        }
        return layout.build();
    }

    /** Creates a buffer over symmetric memory. */
    public static EpBuffer create(BufferContext context) {
        EpShape shape = context.shape();
        EpConfig config = context.config();
        Duration timeout = EpKeys.TIMEOUT.get(config);
        int ranks = context.group().size();
        int rank = context.group().rank();
        ExpertPlacement placement = ShapeSizes.placement(shape, ranks);
        TensorArena arena = context.group().device().arena();
        Runnable free = () -> {
            arena.close();
            context.freeSymmetric().run();
        };
        try {
            Optional<Futex> futex = Futex.ofThisMachine(Waits.LONGEST_SLEEP);
            Rows rowLoops = Rows.of(config);
            LocalLayout local = new LocalLayout(shape, placement, rank);
            HostState.Region high = region(arena, local.highThroughputBytes(), shape);
            List<HostState.Region> low = List.of(
                    region(arena, local.lowLatencyBytes(), shape), region(arena, local.lowLatencyBytes(), shape));
            Peers<HostMemory> peers = new Peers<>(
                    context.plan(),
                    layout(shape, ranks, context.relays()),
                    context.symmetric(),
                    memory -> HostMemory.of(memory, futex),
                    Deadline.in(timeout));
            Waits waits = new Waits(
                    peers, context.bootstrap(), context.plan().hostRanks(rank).size());
            HostState state = new HostState(
                    shape, placement, peers, context.relays(), waits, rowLoops, new HostViews(), local, high, low);
            HostBuffer buffer = new HostBuffer(context, state, timeout, free);
            buffer.numberFrom(EpKeys.FIRST_NUMBER.get(config));
            return new EngineBuffer(buffer, context.group(), context.name());
        } catch (RuntimeException | Error e) {
            free.run();
            throw e;
        }
    }

    /** Allocates memory of results, whose pages are taken when they are written first. */
    private static HostState.Region region(TensorArena arena, long bytes, EpShape shape) {
        HostState.Region region = HostState.Region.of(arena.memory(bytes));
        if (shape.preallocated()) {
            region.access().zero(0, bytes);
        }
        return region;
    }
}
