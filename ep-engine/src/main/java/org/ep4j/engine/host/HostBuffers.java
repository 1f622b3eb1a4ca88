package org.ep4j.engine.host;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.ep4j.Bootstrap;
import org.ep4j.BufferSize;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.TensorArena;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.buffer.EngineBuffer;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.rows.Rows;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Rails;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.engine.sync.Waits;
import org.ep4j.plan.GroupPlan;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.Futex;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.HostViews;

/** Makes buffers of the host engine. */
public final class HostBuffers {
    private HostBuffers() {}

    /**
     * Bytes that a buffer takes on {@code rank}, on the host and on GPUs: layouts are the same, and both number rows and
     * selections with 32 bits.
     *
     * @param rails where some ranks post to others, which takes more
     * @throws EpArgumentException when the shape does not fit the group
     */
    public static BufferSize size(EpShape shape, int ranks, int rank, Rails rails) {
        ExpertPlacement placement = ShapeSizes.placement(shape, ranks);
        checkIndexable("rows that can be received * topK", ShapeSizes.receivedRows(shape, ranks) * shape.topK());
        for (int r = 0; r < ranks; r++) {
            checkIndexable(
                    "local experts * ranks * maxLowLatencyTokens",
                    placement.localExperts(r) * ShapeSizes.lowLatencyRows(shape, ranks));
            if (shape.maxTokens() > 0) {
                checkIndexable(
                        "by-expert rows",
                        LocalLayout.expandedCapacity(
                                shape, ranks, placement.localExperts(r), EpShape.MAX_EXPERT_ALIGNMENT));
            }
        }
        return BufferSize.of(layout(shape, ranks, rails).bytes(), new LocalLayout(shape, placement, rank).bytes());
    }

    private static BufferLayout layout(EpShape shape, int ranks, Rails rails) {
        return new BufferLayout(shape, ranks, rails.posted(), rails.mostSources());
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
     * Makes a buffer over symmetric memory.
     *
     * @param plan of the group
     * @param size of the buffer
     * @param rails of the plan
     * @param symmetric memory of all ranks
     * @param freeSymmetric gives it back; called once, also when this call fails
     * @param way how the buffer recovers
     */
    public static EpBuffer create(
            EpGroup group,
            GroupPlan plan,
            Bootstrap bootstrap,
            String name,
            EpShape shape,
            BufferSize size,
            Rails rails,
            SymmetricMemory symmetric,
            Runnable freeSymmetric,
            Recoverer.Way way,
            EpConfig config) {
        Duration timeout = EpKeys.TIMEOUT.get(config);
        int ranks = group.size();
        int rank = group.rank();
        ExpertPlacement placement = ShapeSizes.placement(shape, ranks);
        TensorArena arena = group.device().arena();
        Runnable free = () -> {
            arena.close();
            freeSymmetric.run();
        };
        try {
            Optional<Futex> futex = Futex.ofThisMachine(Waits.LONGEST_SLEEP);
            int hostRanks = plan.hostRanks(rank).size();
            Rows rowLoops = Rows.of(config);
            LocalLayout local = new LocalLayout(shape, placement, rank);
            HostState.Region high = HostState.Region.of(arena.memory(local.highThroughputBytes()));
            List<HostState.Region> low = List.of(
                    HostState.Region.of(arena.memory(local.lowLatencyBytes())),
                    HostState.Region.of(arena.memory(local.lowLatencyBytes())));
            Peers<HostMemory> peers = new Peers<>(
                    plan,
                    layout(shape, ranks, rails),
                    symmetric,
                    memory -> HostMemory.of(memory, futex),
                    Deadline.in(timeout));
            Waits waits = new Waits(peers, bootstrap, hostRanks);
            HostState state =
                    new HostState(shape, placement, peers, rails, waits, rowLoops, new HostViews(), local, high, low);
            HostBuffer buffer = new HostBuffer(bootstrap, plan, name, size, state, timeout, free, way);
            buffer.numberFrom(EpKeys.FIRST_NUMBER.get(config));
            return new EngineBuffer(buffer, group, name);
        } catch (RuntimeException | Error e) {
            free.run();
            throw e;
        }
    }
}
