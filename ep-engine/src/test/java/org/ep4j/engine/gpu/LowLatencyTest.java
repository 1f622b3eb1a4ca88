package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.ep4j.engine.gpu.GroupsByShape.setup;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.gpu.cuda.SkipWithoutEmulator;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Guard;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/** Low latency on emulated GPUs gives what the host gives. */
@Tag("verify")
@ExtendWith(SkipWithoutEmulator.class)
final class LowLatencyTest {
    private static final List<WireFormat> FORMATS =
            List.of(WireFormat.BF16, WireFormat.FP8, WireFormat.FP8_POW2, WireFormat.FP8_UE8M0);

    private static final GroupsByShape GROUPS = new GroupsByShape(List.of(
            setup(2, EpShape.builder(256, 8, 2).maxLowLatencyTokens(20)),
            setup(3, EpShape.builder(1040, 12, 4).maxLowLatencyTokens(50)),
            setup(
                    4,
                    EpShape.builder(16, 6, 3)
                            .maxLowLatencyTokens(33)
                            .placement(ExpertPlacement.of(4, 3, 0, 0, 3, 1, 0))),
            setup(1, EpShape.builder(272, 5, 8).maxLowLatencyTokens(9)),
            setup(5, EpShape.builder(512, 64, 32).maxLowLatencyTokens(7)),
            // Rows that are sent in pieces.
            setup(2, EpShape.builder(20480, 4, 3).maxLowLatencyTokens(4)),
            // Experts too many for shared memory.
            setup(2, EpShape.builder(16, 9000, 5).maxLowLatencyTokens(12)),
            // More ranks than lanes.
            setup(34, EpShape.builder(32, 50, 3).maxLowLatencyTokens(5))));

    @AfterAll
    static void close() {
        GROUPS.close();
    }

    /** One round's choices, the same on all ranks. */
    private record Choice(
            WireFormat format,
            boolean wide,
            boolean out,
            boolean statistics,
            boolean hook,
            boolean async,
            boolean partial) {
        static Choice of(Random random) {
            return new Choice(
                    FORMATS.get(random.nextInt(FORMATS.size())),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextInt(3) == 0,
                    random.nextBoolean(),
                    random.nextBoolean());
        }
    }

    private static byte[] bytes(Random random, long count) {
        byte[] bytes = new byte[(int) count];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Numbers that combines add up without infinities, whose sums are NaN of any sign. */
    private static Tensor values(Rank rank, Random random, long... dims) {
        long count = Arrays.stream(dims).reduce(1, (a, b) -> a * b);
        byte[] bytes = bytes(random, 2 * count);
        for (int i = 1; i < bytes.length; i += 2) {
            bytes[i] = (byte) ((bytes[i] & 0x83) | 0x3c);
        }
        return rank.tensor(DataType.BF16, bytes, dims);
    }

    /** An expert has room for as many selections of a rank as it may send tokens. */
    private static int[] ids(Random random, int tokens, EpShape shape) {
        int[] ids = new int[tokens * shape.topK()];
        int[] selected = new int[shape.experts()];
        int most = random.nextInt(3) == 0 ? Math.min(2, shape.experts()) : shape.experts();
        for (int i = 0; i < ids.length; i++) {
            int id = random.nextInt(most + 1) - 1;
            ids[i] = id >= 0 && ++selected[id] > shape.maxLowLatencyTokens() ? -1 : id;
        }
        return ids;
    }

    /** What one round of a rank uses. */
    private static final class Round {
        private final Rank rank;
        private final EpShape shape;
        private final Choice choice;
        private final Random random;
        private final int tokens;
        private final int experts;
        private final long rows;
        private final Tensor weights;
        private final boolean carried;
        private final Optional<Tensor> counted;

        Round(Rank rank, Choice choice, Random random, boolean carried) {
            this.rank = rank;
            this.choice = choice;
            this.random = random;
            this.carried = carried || choice.partial();
            shape = rank.buffer().shape();
            experts = rank.buffer().placement().localExperts(rank.number());
            rows = rank.buffer().maxLowLatencyRows();
            tokens = random.nextInt(4) == 0 ? 0 : random.nextInt(shape.maxLowLatencyTokens() + 1);
            float[] values = new float[tokens * shape.topK()];
            for (int i = 0; i < values.length; i++) {
                values[i] = random.nextFloat() - 0.5f;
            }
            weights = rank.floats(values, tokens, shape.topK());
            counted = choice.statistics()
                    ? Optional.of(rank.ints(random.ints(experts, 0, 100).toArray(), experts))
                    : Optional.empty();
        }

        private EpBuffer buffer() {
            EpBuffer drawn = rank.buffer(random);
            return choice.async() ? drawn.withOptions(drawn.options().asynchronous()) : drawn;
        }

        LowLatencyDispatchResult dispatch() {
            int[] ids = ids(random, tokens, shape);
            Tensor list = choice.wide()
                    ? rank.longs(Arrays.stream(ids).asLongStream().toArray(), tokens, shape.topK())
                    : rank.ints(ids, tokens, shape.topK());
            Tensor x = random.nextBoolean()
                    ? values(rank, random, tokens, shape.hidden())
                    : rank.tensor(DataType.BF16, bytes(random, 2L * tokens * shape.hidden()), tokens, shape.hidden());
            var request = LowLatencyDispatchRequest.builder(x, list).format(choice.format());
            if (carried) {
                request.topkWeights(weights);
            }
            if (choice.hook()) {
                request.receiveHook();
            }
            counted.ifPresent(tensor -> request.expertStats(tensor)
                    .waitStats(rank.longs(
                            new long[rank.group().size()], rank.group().size())));
            if (choice.out()) {
                request.outRowsPerExpert(rank.tensor(DataType.INT32, new byte[0], experts))
                        .outSourceTokens(rank.tensor(DataType.INT32, new byte[0], experts, rows))
                        .outLayoutRanges(rank.tensor(
                                DataType.INT64,
                                new byte[0],
                                experts,
                                rank.group().size()));
                boolean fp8 = choice.format() != WireFormat.BF16;
                request.out(rank.tensor(
                        fp8 ? DataType.FP8_E4M3 : DataType.BF16, new byte[0], experts, rows, shape.hidden()));
                if (fp8) {
                    boolean bytes = choice.format() == WireFormat.FP8_UE8M0;
                    request.outScales(rank.tensor(
                            bytes ? DataType.UE8M0 : DataType.FP32,
                            new byte[0],
                            experts,
                            rows,
                            bytes ? (shape.scales() + 3) / 4 * 4 : shape.scales()));
                }
            }
            return buffer().lowLatencyDispatch(request.build());
        }

        void keep(String name, LowLatencyDispatchResult result) {
            result.event().await(Guard.minute());
            int[] counts = rank.readInts(result.rowsPerExpert());
            boolean[] defined = new boolean[(int) (experts * rows)];
            for (int e = 0; e < experts; e++) {
                Arrays.fill(defined, (int) (e * rows), (int) (e * rows) + counts[e], true);
            }
            rank.keep(name + ".counts", result.rowsPerExpert());
            rank.keep(name + ".ranges", result.layoutRanges());
            rank.keepRows(name + ".tokens", result.sourceTokens(), defined);
            rank.keepRows(name + ".x", result.x(), defined);
            result.scales().ifPresent(scales -> rank.keepRows(name + ".scales", scales, defined));
            counted.ifPresent(tensor -> rank.keep(name + ".counted", tensor));
        }

        /** Blocks whose largest magnitude is not below 1 go as they are, and the result is the host's to the last bit. */
        private Tensor large(Tensor values) {
            byte[] bytes = rank.read(values);
            int row = 2 * shape.hidden();
            for (int i = 0; i < bytes.length; i++) {
                if (i % row % 256 == 1) {
                    bytes[i] = 0x40;
                }
            }
            return rank.fill(values, bytes);
        }

        void combineInLogFmt(String name, LowLatencyDispatchResult dispatched) {
            Tensor x = values(rank, random, experts, rows, shape.hidden());
            Tensor large = large(values(rank, random, experts, rows, shape.hidden()));
            Tensor asTheyAre = logFmt(dispatched, large, true);
            if (!choice.partial()) {
                rank.keep(name + " as they are", asTheyAre);
            }
            byte[] coded = rank.read(logFmt(dispatched, x, true));
            byte[] exact = rank.read(logFmt(dispatched, x, false));
            for (int i = 0; i < exact.length; i += 2) {
                // Up to K values below 1, each weighted by at most a half and off by half a step of 2^(32 / 510).
                assertThat(value(coded, i)).isCloseTo(value(exact, i), within(0.02f * shape.topK()));
            }
        }

        private static float value(byte[] row, int at) {
            return Float.intBitsToFloat((row[at] & 0xff) << 16 | row[at + 1] << 24);
        }

        private Tensor logFmt(LowLatencyDispatchResult dispatched, Tensor x, boolean coded) {
            var request = LowLatencyCombineRequest.builder(x, dispatched.handle())
                    .topkWeights(weights)
                    .precision(choice.partial() ? CombinePrecision.RANK_PARTIAL : CombinePrecision.EXACT);
            return rank.buffer(random)
                    .lowLatencyCombine(request.format(coded ? WireFormat.LOGFMT10 : WireFormat.BF16)
                            .build())
                    .out();
        }

        CombineResult combine(LowLatencyDispatchResult dispatched) {
            // Which bank comes next is known when the combines before have begun.
            boolean inPlace = !choice.async() && random.nextBoolean();
            Tensor x = values(rank, random, experts, rows, shape.hidden());
            if (inPlace) {
                x = rank.fill(rank.buffer().nextLowLatencyCombineInput(), rank.read(x));
            }
            var request = LowLatencyCombineRequest.builder(x, dispatched.handle())
                    .precision(choice.partial() ? CombinePrecision.RANK_PARTIAL : CombinePrecision.EXACT);
            if (!carried || random.nextBoolean()) {
                request.topkWeights(weights);
            }
            if (choice.hook()) {
                request.receiveHook();
            }
            if (choice.out()) {
                request.out(rank.tensor(DataType.BF16, new byte[0], tokens, shape.hidden()));
            }
            if (choice.statistics()) {
                request.waitStats(
                        rank.longs(new long[rank.group().size()], rank.group().size()));
            }
            return buffer().lowLatencyCombine(request.build());
        }

        void keep(String name, CombineResult result) {
            result.event().await(Guard.minute());
            rank.keep(name, result.out());
        }
    }

    @Property(tries = 45, verify = 5)
    void roundsEqualThoseOfTheHost(@ForAll @IntRange(max = 7) int setup, @ForAll long seed) {
        GROUPS.get(setup).check(rank -> {
            Random together = new Random(seed);
            Random random = new Random(seed + 31L * rank.number() + 1);
            for (int i = 0; i < 3; i++) {
                Choice choice = Choice.of(together);
                boolean carried = together.nextBoolean();
                boolean newestFirst = together.nextBoolean();
                Round first = new Round(rank, choice, random, carried);
                Round second = new Round(rank, choice, random, carried);
                LowLatencyDispatchResult one = first.dispatch();
                LowLatencyDispatchResult two = second.dispatch();
                if (choice.hook()) {
                    (newestFirst ? two : one).receive();
                    (newestFirst ? one : two).receive();
                }
                first.keep(i + " first", one);
                second.keep(i + " second", two);
                CombineResult back = second.combine(two);
                CombineResult other = first.combine(one);
                if (choice.hook()) {
                    back.receive();
                    other.receive();
                }
                second.keep(i + " second combined", back);
                first.keep(i + " first combined", other);
                first.combineInLogFmt(i + " in LogFMT", one);
            }
        });
    }
}
