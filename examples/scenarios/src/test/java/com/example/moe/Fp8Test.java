package com.example.moe;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.ep4j.Bootstrap;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.WireFormat;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** FP8 rows with scales in tensors that the caller has allocated: high throughput carries the caller's, low latency casts BF16. */
@Tag("verify")
final class Fp8Test {
    private static final int RANKS = 2;
    private static final int TOKENS = 8;
    private static final int HIDDEN = 512;
    private static final int SCALES = HIDDEN / EpShape.SCALE_BLOCK;
    private static final int EXPERTS = 4;
    private static final int LOCAL_EXPERTS = EXPERTS / RANKS;
    private static final int TOP_K = 2;
    private static final int ALIGNMENT = 128;

    private interface Scenario {
        void run(EpBuffer buffer, TensorArena arena);
    }

    @Test
    void prefillCarriesRowsAndScalesUnchanged() throws InterruptedException {
        Ranks.run(RANKS, member -> onBuffer(member, Fp8Test::prefill));
    }

    @Test
    void decodingCastsRowsIntoTheTensorsOfTheCaller() throws InterruptedException {
        Ranks.run(RANKS, member -> onBuffer(member, Fp8Test::decode));
    }

    private static void onBuffer(Bootstrap member, Scenario scenario) {
        EpShape shape = EpShape.builder(HIDDEN, EXPERTS, TOP_K)
                .maxTokens(TOKENS)
                .maxLowLatencyTokens(TOKENS)
                .build();
        try (EpGroup group = EpGroup.join(member, Ranks.settings().build());
                TensorArena arena = group.device().arena();
                EpBuffer buffer = group.createBuffer(shape)) {
            scenario.run(buffer, arena);
        }
    }

    private static void prefill(EpBuffer buffer, TensorArena arena) {
        EpDevice device = buffer.group().device();
        int rank = buffer.group().rank();
        Tensor x = arena.tensor(DataType.FP8_E4M3, TOKENS, HIDDEN);
        device.upload(ByteBuffer.wrap(codes(rank)), x.memory());
        Tensor ids = arena.int32(ids(rank), TOKENS, TOP_K);
        Tensor scales = arena.fp32(scales(rank), TOKENS, SCALES);
        Tensor out = arena.tensor(DataType.FP8_E4M3, buffer.maxRows(RowLayout.BY_EXPERT, ALIGNMENT), HIDDEN);
        byte[] before = new byte[(int) out.byteSize()];
        Arrays.fill(before, (byte) 0x55);
        device.upload(ByteBuffer.wrap(before), out.memory());

        DispatchResult sent = buffer.dispatch(DispatchRequest.builder(x, ids)
                .scales(scales)
                .layout(RowLayout.BY_EXPERT)
                .expertAlignment(ALIGNMENT)
                .zeroPadding()
                .worstCase()
                .out(out)
                .build());

        assertThat(sent.x()).isEqualTo(out);
        byte[] rows = Numbers.bytes(device, out);
        float[] rowScales = device.floats(sent.scales().orElseThrow());
        long[] offsets = device.longs(sent.expertOffsets());
        int[] counts = device.ints(sent.rowsPerExpert());
        int first = 0;
        for (int local = 0; local < LOCAL_EXPERTS; local++) {
            int[] expected = selections(rank * LOCAL_EXPERTS + local);
            assertThat(offsets[local]).isEqualTo(first);
            assertThat(counts[local]).isEqualTo(expected.length);
            for (int i = 0; i < expected.length; i++) {
                int source = expected[i] / TOKENS;
                int token = expected[i] % TOKENS;
                assertThat(part(rows, first + i, HIDDEN)).isEqualTo(part(codes(source), token, HIDDEN));
                assertThat(part(rowScales, first + i)).isEqualTo(part(scales(source), token));
            }
            int end = (first + expected.length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
            assertThat(Arrays.copyOfRange(rows, (first + expected.length) * HIDDEN, end * HIDDEN))
                    .containsOnly(0);
            first = end;
        }
        assertThat(offsets[LOCAL_EXPERTS]).isEqualTo(first);
    }

    private static void decode(EpBuffer buffer, TensorArena arena) {
        EpDevice device = buffer.group().device();
        int rank = buffer.group().rank();
        Tensor x = arena.bf16(tokens(rank), TOKENS, HIDDEN);
        Tensor ids = arena.int32(ids(rank), TOKENS, TOP_K);
        Tensor weights = arena.fp32(weights(rank), TOKENS, TOP_K);
        int capacity = (int) buffer.maxLowLatencyRows();
        assertThat(capacity).isEqualTo(RANKS * TOKENS);
        Tensor out = arena.tensor(DataType.FP8_E4M3, LOCAL_EXPERTS, capacity, HIDDEN);
        Tensor scales = arena.tensor(DataType.UE8M0, LOCAL_EXPERTS, capacity, SCALES);
        Tensor load = arena.tensor(DataType.INT32, LOCAL_EXPERTS);
        LowLatencyDispatchRequest request = LowLatencyDispatchRequest.builder(x, ids)
                .format(WireFormat.FP8_UE8M0)
                .out(out)
                .outScales(scales)
                .expertStats(load)
                .build();
        // Built once and used in every step.
        for (int step = 1; step <= 3; step++) {
            LowLatencyDispatchResult sent = buffer.lowLatencyDispatch(request);
            byte[] rows = Numbers.bytes(device, out);
            byte[] exponents = Numbers.bytes(device, scales);
            for (int local = 0; local < LOCAL_EXPERTS; local++) {
                int[] expected = selections(rank * LOCAL_EXPERTS + local);
                assertThat(device.ints(sent.rowsPerExpert())[local]).isEqualTo(expected.length);
                assertThat(device.ints(load)[local]).isEqualTo(step * expected.length);
                for (int i = 0; i < expected.length; i++) {
                    int row = local * capacity + i;
                    Cast cast = Cast.of(tokens(expected[i] / TOKENS), expected[i] % TOKENS);
                    assertThat(part(rows, row, HIDDEN)).isEqualTo(cast.codes);
                    assertThat(part(exponents, row, SCALES)).isEqualTo(cast.exponents);
                }
            }

            // A grouped product would read both on the buffer's stream; here an expert multiplies by its number.
            Tensor outputs = buffer.nextLowLatencyCombineInput();
            device.upload(outputs(rank, rows, exponents), outputs.memory());
            Tensor y = buffer.lowLatencyCombine(outputs, sent.handle(), weights).out();
            assertThat(device.floats(y)).isEqualTo(expected(rank));
        }
    }

    /** {@code expert * row} in BF16 for all rows, also for unused ones. */
    private static ByteBuffer outputs(int rank, byte[] rows, byte[] exponents) {
        int capacity = rows.length / HIDDEN / LOCAL_EXPERTS;
        float[] outputs = new float[rows.length];
        for (int i = 0; i < rows.length; i++) {
            int expert = rank * LOCAL_EXPERTS + i / HIDDEN / capacity;
            float scale = Math.scalb(1f, (exponents[i / EpShape.SCALE_BLOCK] & 0xff) - 127);
            outputs[i] = expert * Cast.number(rows[i]) * scale;
        }
        return Numbers.bytes(outputs);
    }

    /** Sum in FP32 and in top-k order, rounded once. All products are exact: codes have 4 significant bits, weights one. */
    private static float[] expected(int rank) {
        int[] ids = ids(rank);
        float[] weights = weights(rank);
        float[] sums = new float[TOKENS * HIDDEN];
        for (int token = 0; token < TOKENS; token++) {
            Cast cast = Cast.of(tokens(rank), token);
            for (int h = 0; h < HIDDEN; h++) {
                float sum = 0;
                for (int i = token * TOP_K; i < (token + 1) * TOP_K; i++) {
                    sum += ids[i] < 0 ? 0 : weights[i] * ids[i] * cast.value(h);
                }
                sums[token * HIDDEN + h] = Numbers.bf16(sum);
            }
        }
        return sums;
    }

    private static float[] tokens(int rank) {
        return Numbers.bf16(rank, TOKENS * HIDDEN);
    }

    private static int[] ids(int rank) {
        return Numbers.route(100 + rank, TOKENS, TOP_K, EXPERTS);
    }

    private static float[] weights(int rank) {
        return Numbers.weights(200 + rank, TOKENS * TOP_K);
    }

    /** FP8 rows of the caller. */
    private static byte[] codes(int rank) {
        byte[] codes = new byte[TOKENS * HIDDEN];
        new SplittableRandom(300 + rank).nextBytes(codes);
        return codes;
    }

    private static float[] scales(int rank) {
        return Numbers.bf16(400 + rank, TOKENS * SCALES);
    }

    /** {@code rank * TOKENS + token} of every selection of an expert, in the order of its rows. */
    private static int[] selections(int expert) {
        int[] found = new int[RANKS * TOKENS * TOP_K];
        int count = 0;
        for (int source = 0; source < RANKS; source++) {
            int[] ids = ids(source);
            for (int i = 0; i < ids.length; i++) {
                if (ids[i] == expert) {
                    found[count++] = source * TOKENS + i / TOP_K;
                }
            }
        }
        return Arrays.copyOf(found, count);
    }

    private static byte[] part(byte[] rows, int row, int length) {
        return Arrays.copyOfRange(rows, row * length, (row + 1) * length);
    }

    private static float[] part(float[] scales, int row) {
        return Arrays.copyOfRange(scales, row * SCALES, (row + 1) * SCALES);
    }

    /** A BF16 row in FP8. The scale of a block is the least power of two with which no code exceeds 448. */
    private static final class Cast {
        private final byte[] codes = new byte[HIDDEN];
        private final byte[] exponents = new byte[SCALES];

        static Cast of(float[] tokens, int token) {
            Cast cast = new Cast();
            for (int block = 0; block < SCALES; block++) {
                int begin = token * HIDDEN + block * EpShape.SCALE_BLOCK;
                float largest = 0;
                for (int i = begin; i < begin + EpShape.SCALE_BLOCK; i++) {
                    largest = Math.max(largest, Math.abs(tokens[i]));
                }
                int exponent = -126;
                while (Math.scalb(448f, exponent) < largest) {
                    exponent++;
                }
                cast.exponents[block] = (byte) (exponent + 127);
                for (int i = begin; i < begin + EpShape.SCALE_BLOCK; i++) {
                    cast.codes[i - token * HIDDEN] = nearest(Math.scalb(tokens[i], -exponent));
                }
            }
            return cast;
        }

        float value(int h) {
            return Math.scalb(number(codes[h]), (exponents[h / EpShape.SCALE_BLOCK] & 0xff) - 127);
        }

        /** E4M3: sign, 4 bits of exponent with bias 7, 3 bits of mantissa; subnormal where the exponent is 0. */
        static float number(byte code) {
            int exponent = code >> 3 & 0xf;
            int mantissa = code & 7;
            float magnitude = Math.scalb(exponent == 0 ? mantissa : mantissa + 8, Math.max(exponent, 1) - 10);
            return code < 0 ? -magnitude : magnitude;
        }

        /** The nearest code; the even one where two are equally near. */
        private static byte nearest(float value) {
            int best = 0;
            for (int code = 1; code < 0x7f; code++) {
                float apart = Math.abs(number((byte) code) - Math.abs(value));
                float least = Math.abs(number((byte) best) - Math.abs(value));
                if (apart < least || (apart == least && code % 2 == 0)) {
                    best = code;
                }
            }
            return (byte) (value < 0 ? best | 0x80 : best);
        }
    }
}
