package org.ep4j.examples.llm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Router and experts of a layer, in both modes, compared with what the transformers library computes in FP32. */
@Tag("verify")
final class ExpertBlockTest {
    private static final Path MODEL = Path.of("../../../shared/models/tiny-qwen3-moe");
    private static final int TOKENS = 64;

    private static float[] floats(String name) throws IOException {
        ByteBuffer bytes =
                ByteBuffer.wrap(Files.readAllBytes(MODEL.resolve(name))).order(ByteOrder.LITTLE_ENDIAN);
        float[] values = new float[bytes.capacity() / 4];
        bytes.asFloatBuffer().get(values);
        return values;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void isWhatTheReferenceComputes(int ranks) throws IOException, InterruptedException, ExecutionException {
        boolean there = Files.exists(MODEL.resolve("moe_block_in.f32"));
        if (!there) {
            System.out.println("skipped: no small model at " + MODEL);
        }
        assumeTrue(there, "no small model");
        float[] in = floats("moe_block_in.f32");
        float[] expected = floats("moe_block_out.f32");
        float largest = 0;
        for (float value : expected) {
            largest = Math.max(largest, Math.abs(value));
        }
        ExecutorService threads = Executors.newFixedThreadPool(ranks);
        try {
            List<Future<float[][]>> running = new ArrayList<>();
            for (Bootstrap bootstrap : Bootstrap.inProcess(ranks)) {
                running.add(threads.submit(() -> rank(bootstrap, ranks, in)));
            }
            int own = TOKENS / ranks * 256;
            for (int rank = 0; rank < ranks; rank++) {
                for (float[] out : running.get(rank).get()) {
                    assertThat(out).hasSize(own);
                    for (int i = 0; i < own; i++) {
                        // Each expert's row and the sum are rounded to BF16.
                        assertThat(Math.abs(out[i] - expected[rank * own + i])).isLessThan(largest / 128);
                    }
                }
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** Prefill, then decode in two batches; each rank has its part of the tokens. */
    private static float[][] rank(Bootstrap bootstrap, int ranks, float[] in) {
        ModelConfig config = ModelConfig.read(MODEL);
        int tokens = TOKENS / ranks;
        int rank = bootstrap.rank();
        int hidden = config.hidden();
        Spent spent = new Spent(System::nanoTime);
        try (Safetensors files = Safetensors.open(MODEL);
                Compute compute = new Compute(1);
                EpGroup group = EpGroup.join(bootstrap, EpConfig.builder().build())) {
            int each = config.experts() / ranks;
            Weights<Matrix> weights = Weights.build(
                    config,
                    expert -> expert / each == rank,
                    layer -> {},
                    (name, rows, columns) -> Matrix.of(rows, columns, files.bytes(name, rows, columns)));
            Matrix router = weights.layers().get(0).router();
            try (Experts experts = new ExpertParallel(group, weights, compute, spent, tokens / 2)) {
                float[] all = Arrays.copyOfRange(in, rank * tokens * hidden, (rank + 1) * tokens * hidden);
                float[] prefill = experts.prefill(0, Router.route(config, compute, router, all, tokens));
                float[] decode = new float[tokens * hidden];
                int half = tokens / 2 * hidden;
                experts.decode(
                        0,
                        2,
                        i -> Router.route(
                                config, compute, router, Arrays.copyOfRange(all, i * half, (i + 1) * half), tokens / 2),
                        (i, sums) -> System.arraycopy(sums, 0, decode, i * half, half));
                group.barrier(Duration.ofMinutes(1));
                return new float[][] {prefill, decode};
            }
        }
    }
}
