package org.ep4j.engine.gpu;

import static org.ep4j.engine.gpu.GroupsByShape.setup;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** High-throughput combine on emulated GPUs gives what the host gives. */
@Tag("verify")
@ExtendWith(SkipWithoutEmulator.class)
final class HighThroughputCombineTest {
    private static final GroupsByShape GROUPS = new GroupsByShape(List.of(
            setup(2, EpShape.builder(256, 8, 2).maxTokens(40)),
            setup(3, EpShape.builder(128, 12, 4).maxTokens(300)),
            setup(4, EpShape.builder(16, 6, 3).maxTokens(70).placement(ExpertPlacement.of(4, 3, 0, 0, 3, 1, 0))),
            setup(1, EpShape.builder(272, 5, 8).maxTokens(33)),
            setup(5, EpShape.builder(512, 64, 32).maxTokens(20)),
            setup(4, EpShape.builder(7168, 16, 8).maxTokens(12))));

    @AfterAll
    static void close() {
        GROUPS.close();
    }

    /** Where x lies. */
    private enum Place {
        DISPATCHED,
        COMBINE_INPUT,
        OWN,
        OWN_WORST
    }

    /** One combine's choices, the same on all ranks. */
    private record Choice(Place place, boolean weights, int biases, boolean out, CombinePrecision precision) {
        static Choice of(Random random, boolean byExpert) {
            Place place = List.of(Place.values()).get(random.nextInt(Place.values().length));
            return new Choice(
                    byExpert && place == Place.COMBINE_INPUT ? Place.DISPATCHED : place,
                    random.nextBoolean(),
                    random.nextInt(3),
                    random.nextBoolean(),
                    random.nextBoolean() ? CombinePrecision.EXACT : CombinePrecision.RANK_PARTIAL);
        }
    }

    /** BF16 values of all kinds: zeros of both signs, infinities and NaN among them. */
    private static byte[] values(Random random, long count) {
        ByteBuffer bytes = ByteBuffer.allocate((int) (2 * count)).order(ByteOrder.nativeOrder());
        for (long i = 0; i < count; i++) {
            bytes.putShort((short)
                    switch (random.nextInt(40)) {
                        case 0 -> random.nextInt(1 << 16);
                        case 1, 2, 3 -> 0x8000;
                        case 4 -> 0;
                        default -> 0x3b00 + (random.nextInt(1 << 16) & 0x87ff);
                    });
        }
        return bytes.array();
    }

    private static Tensor input(Rank rank, Random random, Choice choice, DispatchResult dispatched, boolean exact) {
        long rows = dispatched.handle().rows();
        long hidden = rank.buffer().shape().hidden();
        Tensor x = dispatched.x();
        byte[] values = values(random, rows * hidden);
        return switch (choice.place()) {
            case DISPATCHED -> rank.fill(x, values);
            case COMBINE_INPUT -> {
                Tensor whole = rank.buffer().combineInput();
                // In the middle, where there is room.
                long from = random.nextInt((int) (whole.dim(0) - rows + 1));
                rank.fill(
                        Tensor.of(
                                whole.memory().slice(from * hidden * 2, rows * hidden * 2),
                                DataType.BF16,
                                rows,
                                hidden),
                        values);
                yield Tensor.of(
                        whole.memory().slice(from * hidden * 2, rows * hidden * 2), DataType.BF16, rows, hidden);
            }
            case OWN -> rank.tensor(DataType.BF16, values, rows, hidden);
            case OWN_WORST -> rank.tensor(DataType.BF16, values, exact ? rows + random.nextInt(4) : x.dim(0), hidden);
        };
    }

    private static void combine(
            String name, Rank rank, Random random, Choice choice, DispatchResult dispatched, boolean exact) {
        EpShape shape = rank.buffer().shape();
        boolean byExpert = dispatched.handle().layout() == RowLayout.BY_EXPERT;
        int tokens = dispatched.handle().tokens();
        long rows = dispatched.handle().rows();
        CombineRequest.Builder request = CombineRequest.builder(
                        input(rank, random, choice, dispatched, exact), dispatched.handle())
                .precision(choice.precision());
        if (choice.weights()) {
            byte[] weights = new byte[(int) (4 * rows * (byExpert ? 1 : shape.topK()))];
            random.nextBytes(weights);
            request.weights(
                    byExpert
                            ? rank.tensor(DataType.FP32, weights, rows)
                            : rank.tensor(DataType.FP32, weights, rows, shape.topK()));
        }
        for (int b = 0; b < choice.biases(); b++) {
            request.bias(
                    rank.tensor(DataType.BF16, values(random, (long) tokens * shape.hidden()), tokens, shape.hidden()));
        }
        if (choice.out()) {
            request.out(rank.tensor(DataType.BF16, new byte[0], tokens, shape.hidden()));
            if (choice.weights()) {
                request.outWeights(rank.tensor(DataType.FP32, new byte[0], tokens, shape.topK()));
            }
        }
        if (random.nextBoolean()) {
            int ranks = rank.group().size();
            request.waitStats(rank.longs(new long[ranks], ranks));
        }
        CombineResult result = rank.buffer(random).combine(request.build());
        rank.keep(name + ".out", result.out());
        result.weights().ifPresent(weights -> rank.keep(name + ".weights", weights));
        rank.keep(name + ".weighted", result.weights().isPresent());
    }

    private static DispatchResult dispatch(Rank rank, Random random, boolean byExpert, boolean exact, int alignment) {
        EpShape shape = rank.buffer().shape();
        int tokens = random.nextInt(4) == 0 ? 0 : random.nextInt(shape.maxTokens() + 1);
        DispatchRequest.Builder request = DispatchRequest.builder(
                        rank.tensor(
                                DataType.BF16, values(random, (long) tokens * shape.hidden()), tokens, shape.hidden()),
                        rank.ints(HighThroughputDispatchTest.ids(random, tokens, shape), tokens, shape.topK()))
                .layout(byExpert ? RowLayout.BY_EXPERT : RowLayout.BY_RANK)
                .expertAlignment(alignment);
        return rank.buffer(random)
                .dispatch(exact ? request.build() : request.worstCase().build());
    }

    @Property(tries = 60, verify = 6)
    void combinesEqualThoseOfTheHost(@ForAll @IntRange(max = 5) int setup, @ForAll long seed) {
        GROUPS.get(setup).check(rank -> {
            Random together = new Random(seed);
            Random random = new Random(seed + 31L * rank.number() + 1);
            boolean byExpert = together.nextBoolean();
            boolean exact = together.nextBoolean();
            DispatchResult dispatched = dispatch(rank, random, byExpert, exact, 1 << together.nextInt(8));
            for (int i = 0; i < 3; i++) {
                combine("combine " + i, rank, random, Choice.of(together, byExpert), dispatched, exact);
            }
        });
    }

    @Test
    void ranksThatAreLeftOutCountAsZero() {
        try (var groups =
                new GpuAgainstHost(EpShape.builder(128, 12, 4).maxTokens(60).build(), 3)) {
            for (int i = 0; i < 4; i++) {
                int round = i;
                boolean byExpert = i % 2 == 0;
                CombinePrecision precision = i < 2 ? CombinePrecision.EXACT : CombinePrecision.RANK_PARTIAL;
                groups.check(rank -> {
                    boolean leaves = rank.number() == 1;
                    if (leaves && round > 0) {
                        return;
                    }
                    Random random = new Random(rank.number() + 10L * round);
                    DispatchResult dispatched = dispatch(rank, random, byExpert, true, 1);
                    if (leaves) {
                        return;
                    }
                    if (round == 0) {
                        rank.buffer().mask(1);
                    }
                    Choice choice = new Choice(Place.OWN, true, 1, false, precision);
                    combine("combine", rank, random, choice, dispatched, true);
                });
            }
        }
    }

    @Test
    void wrongArgumentsAreRefusedAsOnTheHost() {
        GROUPS.get(1).check(rank -> {
            EpShape shape = rank.buffer().shape();
            int hidden = shape.hidden();
            Random random = new Random(7 + rank.number());
            DispatchResult byRank = dispatch(rank, random, false, true, 1);
            long rows = byRank.rows();
            Tensor x = rank.tensor(DataType.BF16, new byte[0], rows, hidden);
            rank.keepFailure(
                    "rows",
                    () -> rank.buffer()
                            .combine(CombineRequest.builder(
                                            rank.tensor(DataType.BF16, new byte[0], Math.max(0, rows - 1), hidden),
                                            byRank.handle())
                                    .build()));
            rank.keepFailure(
                    "bias",
                    () -> rank.buffer()
                            .combine(CombineRequest.builder(x, byRank.handle())
                                    .bias(rank.tensor(DataType.BF16, new byte[0], 1000, hidden))
                                    .build()));
            rank.keepFailure(
                    "out",
                    () -> rank.buffer()
                            .combine(CombineRequest.builder(x, byRank.handle())
                                    .out(rank.tensor(
                                            DataType.FP32,
                                            new byte[0],
                                            byRank.handle().tokens(),
                                            hidden))
                                    .build()));
            rank.keepFailure(
                    "weights",
                    () -> rank.buffer()
                            .combine(CombineRequest.builder(x, byRank.handle())
                                    .weights(rank.tensor(DataType.FP32, new byte[0], rows, shape.topK() + 1))
                                    .build()));
            DispatchResult byExpert = dispatch(rank, random, true, true, 1);
            rank.keepFailure(
                    "place",
                    () -> rank.buffer()
                            .combine(CombineRequest.builder(rank.buffer().combineInput(), byExpert.handle())
                                    .build()));
        });
    }
}
