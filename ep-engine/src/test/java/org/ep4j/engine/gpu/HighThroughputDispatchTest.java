package org.ep4j.engine.gpu;

import static org.ep4j.engine.gpu.GroupsByShape.setup;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.gpu.cuda.SkipWithoutEmulator;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/** High-throughput dispatch on emulated GPUs gives what the host gives. */
@Tag("verify")
@ExtendWith(SkipWithoutEmulator.class)
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
            setup(34, EpShape.builder(32, 50, 3).maxTokens(9))));

    @AfterAll
    static void close() {
        GROUPS.close();
    }

    /** One dispatch's choices, the same on all ranks. */
    private record Choice(
            boolean fp8,
            boolean weights,
            boolean wide,
            boolean byExpert,
            int alignment,
            boolean zero,
            boolean exact,
            boolean statistics) {
        static Choice of(Random random) {
            return new Choice(
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    1 << random.nextInt(8),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean());
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
            Rank rank, Random random, Choice choice, boolean wide, int tokens, DispatchRequest.Builder builder) {
        EpShape shape = rank.buffer().shape();
        if (choice.fp8()) {
            builder.scales(
                    rank.tensor(DataType.FP32, bytes(random, 4L * tokens * shape.scales()), tokens, shape.scales()));
        }
        if (choice.weights()) {
            builder.topkWeights(
                    rank.tensor(DataType.FP32, bytes(random, 4L * tokens * shape.topK()), tokens, shape.topK()));
        }
        if (choice.statistics()) {
            int experts = rank.buffer().placement().localExperts(rank.number());
            int ranks = rank.group().size();
            builder.expertStats(rank.ints(random.ints(experts, 0, 100).toArray(), experts))
                    .waitStats(rank.longs(new long[ranks], ranks));
        }
        if (choice.zero()) {
            builder.zeroPadding();
        }
        if (!choice.exact()) {
            builder.worstCase();
        }
        DispatchRequest request = builder.expertAlignment(choice.alignment()).build();
        if (random.nextBoolean()) {
            long rows = worstRows(rank, request);
            Tensor out = rank.tensor(request.x().type(), new byte[0], rows + random.nextInt(3), shape.hidden());
            request = builder.out(out).build();
        }
        if (random.nextBoolean()) {
            giveOthers(rank, random, wide, request, builder);
            request = builder.build();
        }
        return request;
    }

    /** Gives tensors for some of what goes with the rows. */
    private static void giveOthers(
            Rank rank, Random random, boolean wide, DispatchRequest request, DispatchRequest.Builder builder) {
        EpShape shape = rank.buffer().shape();
        int experts = rank.buffer().placement().localExperts(rank.number());
        long rows = worstRows(rank, request) + random.nextInt(3);
        boolean byExpert = request.layout() == RowLayout.BY_EXPERT;
        if (request.scales().isPresent() && random.nextBoolean()) {
            builder.outScales(rank.tensor(DataType.FP32, new byte[0], rows, shape.scales()));
        }
        if (!byExpert && random.nextBoolean()) {
            builder.outTopkIds(rank.tensor(wide ? DataType.INT64 : DataType.INT32, new byte[0], rows, shape.topK()));
        }
        if (request.topkWeights().isPresent() && random.nextBoolean()) {
            builder.outTopkWeights(
                    byExpert
                            ? rank.tensor(DataType.FP32, new byte[0], rows)
                            : rank.tensor(DataType.FP32, new byte[0], rows, shape.topK()));
        }
        if (random.nextBoolean()) {
            builder.outSourceRanks(rank.tensor(DataType.INT32, new byte[0], rows));
        }
        if (random.nextBoolean()) {
            builder.outSourceTokens(rank.tensor(DataType.INT32, new byte[0], rows));
        }
        if (random.nextBoolean()) {
            builder.outRowsPerSource(
                    rank.tensor(DataType.INT32, new byte[0], rank.group().size()));
        }
        if (random.nextBoolean()) {
            builder.outRowsPerExpert(rank.tensor(DataType.INT32, new byte[0], experts));
        }
        if (random.nextBoolean()) {
            builder.outExpertOffsets(rank.tensor(DataType.INT64, new byte[0], experts + 1L));
        }
    }

    private static long worstRows(Rank rank, DispatchRequest request) {
        return rank.buffer().maxRows(request.layout(), EpShape.MAX_EXPERT_ALIGNMENT);
    }

    private static Tensor rows(Rank rank, Random random, Choice choice, int tokens) {
        int hidden = rank.buffer().shape().hidden();
        DataType type = choice.fp8() ? DataType.FP8_E4M3 : DataType.BF16;
        return rank.tensor(type, bytes(random, type.bytes(1L * tokens * hidden)), tokens, hidden);
    }

    private static Tensor idTensor(Rank rank, int[] ids, boolean wide) {
        int topK = rank.buffer().shape().topK();
        int tokens = ids.length / topK;
        return wide
                ? rank.longs(Arrays.stream(ids).asLongStream().toArray(), tokens, topK)
                : rank.ints(ids, tokens, topK);
    }

    @Property(tries = 60, verify = 8)
    void dispatchesEqualThoseOfTheHost(@ForAll @IntRange(max = 8) int setup, @ForAll long seed) {
        GROUPS.get(setup).check(rank -> {
            Random together = new Random(seed);
            Random random = new Random(seed + 31L * rank.number() + 1);
            EpShape shape = rank.buffer().shape();
            List<DispatchHandle> handles = new ArrayList<>();
            List<Boolean> wide = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Choice choice = Choice.of(together);
                boolean again = i > 0 && together.nextBoolean();
                int which = together.nextInt(3);
                DispatchRequest request;
                wide.add(again ? wide.get(which % handles.size()) : choice.wide());
                if (again) {
                    DispatchHandle handle = handles.get(which % handles.size());
                    request = finish(
                            rank,
                            random,
                            choice,
                            wide.get(i),
                            handle.tokens(),
                            DispatchRequest.builder(rows(rank, random, choice, handle.tokens()), handle));
                } else {
                    int tokens = random.nextInt(4) == 0 ? 0 : random.nextInt(shape.maxTokens() + 1);
                    request = finish(
                            rank,
                            random,
                            choice,
                            wide.get(i),
                            tokens,
                            DispatchRequest.builder(
                                            rows(rank, random, choice, tokens),
                                            idTensor(rank, ids(random, tokens, shape), choice.wide()))
                                    .layout(choice.byExpert() ? RowLayout.BY_EXPERT : RowLayout.BY_RANK));
                }
                DispatchResult result = rank.buffer(random).dispatch(request);
                String name = "dispatch " + i;
                rank.keep(name, result, request);
                request.expertStats().ifPresent(counted -> rank.keep(name + ".counted", counted));
                handles.add(result.handle());
            }
        });
    }
}
