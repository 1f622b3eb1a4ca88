package org.ep4j.engine.gpu;

import static org.ep4j.engine.gpu.GroupsByShape.setup;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AddLifecycleHook;
import net.jqwik.api.lifecycle.AfterContainer;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchOutputs;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.OverflowPolicy;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.cuda.SkipWithoutEmulator;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.engine.layout.LocalLayout;

/** High-throughput dispatch on emulated GPUs gives what the host gives. */
@AddLifecycleHook(SkipWithoutEmulator.class)
final class HighThroughputDispatchTest {
    private static final GroupsByShape GROUPS = new GroupsByShape(List.of(
            setup(2, EpShape.builder(256, 8, 2).maxTokens(40)),
            setup(3, EpShape.builder(128, 12, 4).maxTokens(300)),
            setup(4, EpShape.builder(16, 6, 3).maxTokens(70).placement(ExpertPlacement.of(4, 3, 0, 0, 3, 1, 0))),
            setup(1, EpShape.builder(272, 5, 8).maxTokens(33)),
            setup(5, EpShape.builder(512, 64, 32).maxTokens(20)),
            setup(2, EpShape.builder(9216, 4, 1).maxTokens(5)),
            // Records too long for shared memory.
            setup(4, EpShape.builder(131072, 4, 4).maxTokens(3)),
            // Experts too many for it.
            setup(2, EpShape.builder(16, 3000, 5).maxTokens(30)),
            // More ranks than lanes.
            setup(34, EpShape.builder(32, 50, 3).maxTokens(9)),
            // Rows that do not fit.
            setup(4, EpShape.builder(128, 12, 4).maxTokens(90).maxReceivedTokens(61)),
            setup(3, EpShape.builder(64, 6, 5).maxTokens(40).maxReceivedTokens(1))));

    @AfterContainer
    static void close() {
        GROUPS.close();
    }

    private static final List<DataType> FP8 =
            Arrays.stream(DataType.values()).filter(DataType::isFp8).toList();

    /** One dispatch's choices, the same on all ranks. */
    private record Choice(
            DataType rows,
            boolean weights,
            boolean wide,
            boolean byExpert,
            int alignment,
            boolean zero,
            boolean exact,
            boolean drops) {
        static Choice of(Random random) {
            return new Choice(
                    random.nextBoolean() ? DataType.BF16 : FP8.get(random.nextInt(FP8.size())),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    1 << random.nextInt(8),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean());
        }

        OverflowPolicy overflow(EpShape shape) {
            return drops || shape.maxReceivedTokens() > 0 ? OverflowPolicy.DROP : OverflowPolicy.FAIL;
        }
    }

    /** How tokens choose experts. */
    private enum Taste {
        ANY,
        ONE_EXPERT,
        MOSTLY_NONE,
        NONE
    }

    static int[] ids(Random random, int tokens, EpShape shape) {
        Taste taste = Taste.values()[random.nextInt(Taste.values().length)];
        int[] ids = new int[tokens * shape.topK()];
        int favourite = random.nextInt(shape.experts());
        for (int i = 0; i < ids.length; i++) {
            ids[i] = switch (taste) {
                case ANY -> random.nextInt(shape.experts() + 1) - 1;
                case ONE_EXPERT -> favourite;
                case MOSTLY_NONE -> random.nextInt(5) == 0 ? random.nextInt(shape.experts()) : -1;
                case NONE -> -1;
            };
        }
        return ids;
    }

    private static byte[] bytes(Random random, long count) {
        byte[] bytes = new byte[(int) count];
        random.nextBytes(bytes);
        return bytes;
    }

    private static DispatchRequest finish(
            Rank rank, Random random, Choice choice, int tokens, DispatchRequest.Builder builder) {
        EpShape shape = rank.buffer().shape();
        if (choice.rows().isFp8()) {
            builder.scales(
                    rank.tensor(DataType.FP32, bytes(random, 4L * tokens * shape.scales()), tokens, shape.scales()));
        }
        if (choice.weights()) {
            builder.topkWeights(
                    rank.tensor(DataType.FP32, bytes(random, 4L * tokens * shape.topK()), tokens, shape.topK()));
        }
        if (choice.zero()) {
            builder.zeroPadding();
        }
        if (!choice.exact()) {
            builder.worstCase();
        }
        DispatchRequest request = builder.expertAlignment(choice.alignment())
                .overflow(choice.overflow(shape))
                .build();
        if (random.nextBoolean()) {
            request = builder.outputs(outputs(rank, request)).build();
        }
        if (random.nextBoolean()) {
            long rows = worstRows(rank, request);
            Tensor out = rank.tensor(request.x().type(), new byte[0], rows + random.nextInt(3), shape.hidden());
            request = builder.out(out).build();
        }
        return request;
    }

    /** Tensors for all results that the request gives, but the rows. */
    private static DispatchOutputs outputs(Rank rank, DispatchRequest request) {
        EpShape shape = rank.buffer().shape();
        long rows = worstRows(rank, request);
        int experts = rank.buffer().placement().localExperts(rank.number());
        byte[] none = new byte[0];
        DispatchOutputs.Builder outputs = DispatchOutputs.builder()
                .sourceRanks(rank.tensor(DataType.INT32, none, rows))
                .sourceTokens(rank.tensor(DataType.INT32, none, rows))
                .rowsPerSource(rank.tensor(DataType.INT32, none, rank.group().size()))
                .rowsPerExpert(rank.tensor(DataType.INT32, none, experts))
                .expertOffsets(rank.tensor(DataType.INT64, none, experts + 1L));
        if (request.scales().isPresent()) {
            outputs.scales(rank.tensor(DataType.FP32, none, rows, shape.scales()));
        }
        request.topkIds()
                .filter(ids -> request.layout() == RowLayout.BY_RANK)
                .ifPresent(ids -> outputs.topkIds(rank.tensor(ids.type(), none, rows, shape.topK())));
        if (request.topkWeights().isPresent()) {
            outputs.topkWeights(
                    request.layout() == RowLayout.BY_RANK
                            ? rank.tensor(DataType.FP32, none, rows, shape.topK())
                            : rank.tensor(DataType.FP32, none, rows));
        }
        return outputs.build();
    }

    private static long worstRows(Rank rank, DispatchRequest request) {
        EpShape shape = rank.buffer().shape();
        int ranks = rank.group().size();
        return request.layout() == RowLayout.BY_EXPERT
                ? LocalLayout.expandedCapacity(
                        shape,
                        ranks,
                        rank.buffer().placement().localExperts(rank.number()),
                        EpShape.MAX_EXPERT_ALIGNMENT)
                : shape.receiveCapacity(ranks);
    }

    private static Tensor rows(Rank rank, Random random, Choice choice, int tokens) {
        int hidden = rank.buffer().shape().hidden();
        DataType type = choice.rows();
        return rank.tensor(type, bytes(random, 1L * tokens * hidden * type.bytes()), tokens, hidden);
    }

    private static Tensor idTensor(Rank rank, int[] ids, boolean wide) {
        int topK = rank.buffer().shape().topK();
        int tokens = ids.length / topK;
        return wide
                ? rank.longs(Arrays.stream(ids).asLongStream().toArray(), tokens, topK)
                : rank.ints(ids, tokens, topK);
    }

    @Property(tries = 20, shrinking = ShrinkingMode.OFF)
    void dispatchesAreThoseOfTheHost(@ForAll @IntRange(max = 10) int setup, @ForAll long seed) {
        GROUPS.get(setup).check(rank -> {
            Random together = new Random(seed);
            Random random = new Random(seed + 31L * rank.number() + 1);
            EpShape shape = rank.buffer().shape();
            List<DispatchHandle> handles = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Choice choice = Choice.of(together);
                boolean again = i > 0 && together.nextBoolean();
                int which = together.nextInt(3);
                DispatchRequest request;
                if (again) {
                    DispatchHandle handle = handles.get(which % handles.size());
                    request = finish(
                            rank,
                            random,
                            choice,
                            handle.tokens(),
                            DispatchRequest.cached(rows(rank, random, choice, handle.tokens()), handle));
                } else {
                    int tokens = random.nextInt(4) == 0 ? 0 : random.nextInt(shape.maxTokens() + 1);
                    request = finish(
                            rank,
                            random,
                            choice,
                            tokens,
                            DispatchRequest.of(
                                            rows(rank, random, choice, tokens),
                                            idTensor(rank, ids(random, tokens, shape), choice.wide()))
                                    .layout(choice.byExpert() ? RowLayout.BY_EXPERT : RowLayout.BY_RANK));
                }
                DispatchResult result = rank.buffer().dispatch(request);
                rank.keep("dispatch " + i, result, request);
                handles.add(result.handle());
            }
        });
    }
}
