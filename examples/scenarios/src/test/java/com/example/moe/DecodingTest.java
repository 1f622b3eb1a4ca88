package com.example.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.ep4j.Bootstrap;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.WireFormat;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuKernel;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Decoding on GPUs: two batches in turn with the receive hook, FP8 rows, and a kernel of the caller for the experts. */
@Tag("verify")
final class DecodingTest {
    private static final int RANKS = 2;
    private static final int TOKENS = 6;
    private static final int HIDDEN = 256;
    private static final int EXPERTS = 8;
    private static final int TOP_K = 3;
    private static final int STEPS = 3;

    /** Experts: {@code y = (expert + 1) * x * scale} for every received row, from E4M3 to BF16. */
    private static final String EXPERTS_KERNEL = """
            struct Op {
              const unsigned char* x;  // [L, rows, H] E4M3
              const float* scales;     // [L, rows, H / 128]
              const int* counts;       // [L]
              u16* y;                  // [L, rows, H] BF16
              i64 experts;             // L
              i64 rows;
              i64 hidden;
              i64 first;               // number of the first expert
            };

            union Number {
              float value;
              unsigned int bits;
            };

            EP_DEVICE float e4m3(unsigned char code) {
              int exponent = code >> 3 & 15;
              float value = exponent == 0 ? code & 7 : (code & 7) + 8;
              for (int i = exponent == 0 ? 1 : exponent; i < 10; i++) value *= 0.5f;
              for (int i = exponent; i > 10; i--) value *= 2;
              return code & 0x80 ? -value : value;
            }

            EP_KERNEL(experts, 256) {
              i64 elements = op.experts * op.rows * op.hidden;
              for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += (i64)gridDim.x * blockDim.x) {
                i64 row = i / op.hidden;
                if (row % op.rows >= op.counts[row / op.rows]) continue;
                Number number;
                number.value = (float)(op.first + row / op.rows + 1) * e4m3(op.x[i]) * op.scales[i / 128];
                op.y[i] = (u16)((number.bits + 0x7fff + (number.bits >> 16 & 1)) >> 16);
              }
            }
            """;

    @Test
    void twoBatchesInTurnWithoutWaiting() throws InterruptedException {
        onGpus((rank, arena) -> {
            Batch a = new Batch(rank, arena, 0);
            Batch b = new Batch(rank, arena, 1);
            for (int step = 0; step < STEPS; step++) {
                a.load(step);
                b.load(step);
                rank.step(a, b).forEach(sum -> sum.event().await(Ranks.DEADLINE));
                a.check(step);
                b.check(step);
            }
        });
    }

    @Test
    void twoBatchesInTurnInOneGraph() throws InterruptedException {
        onGpus((rank, arena) -> {
            Batch a = new Batch(rank, arena, 0);
            Batch b = new Batch(rank, arena, 1);
            a.load(0);
            b.load(0);
            rank.step(a, b); // once outside, which compiles kernels
            rank.stream.synchronize(Ranks.DEADLINE);
            a.check(0);
            b.check(0);
            try (GpuGraph graph = rank.stream.capture(() -> rank.step(a, b))) {
                for (int i = 1; i <= STEPS; i++) {
                    a.load(i);
                    b.load(i);
                    graph.launch(rank.stream);
                    graph.lastLaunch().await(Ranks.DEADLINE);
                    a.check(i);
                    b.check(i);
                }
            }
        });
    }

    private interface Scenario {
        void run(Rank rank, TensorArena arena);
    }

    private static void onGpus(Scenario scenario) throws InterruptedException {
        String driver = System.getenv().getOrDefault("EP_CUDA_DRIVER", "");
        boolean there = !driver.isEmpty() && Files.exists(Path.of(driver));
        if (!there && "1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            throw new AssertionError("no emulated CUDA at " + driver);
        }
        if (!there) {
            System.out.println("skipped: no emulated CUDA at \"" + driver + "\" (EP_CUDA_DRIVER)");
        }
        assumeTrue(there, "no emulated CUDA");
        Ranks.run(RANKS, member -> onGpu(member, scenario));
    }

    private static void onGpu(Bootstrap member, Scenario scenario) {
        EpShape shape = EpShape.builder(HIDDEN, EXPERTS, TOP_K)
                .maxLowLatencyTokens(TOKENS)
                .build();
        // Ranks that are threads name their devices.
        try (EpGroup group = EpGroup.join(
                        member,
                        Ranks.settings().device(Device.cuda(member.rank())).build());
                GpuStream stream = GpuDevice.of(group.device()).createStream();
                GpuKernels kernels = GpuDevice.of(group.device()).compile("experts.cu", EXPERTS_KERNEL);
                TensorArena arena = group.device().arena();
                EpBuffer buffer = group.createBuffer(shape)) {
            OpOptions options = OpOptions.DEFAULT.onStream(stream.handle()).asynchronous();
            scenario.run(new Rank(buffer.withOptions(options), stream, kernels.kernel("experts", 256, 0)), arena);
        }
    }

    /** What a rank needs to run a step. */
    private static final class Rank {
        private final EpBuffer buffer;
        private final GpuDevice gpu;
        private final GpuStream stream;
        private final GpuKernel experts;

        Rank(EpBuffer buffer, GpuStream stream, GpuKernel experts) {
            this.buffer = buffer;
            this.gpu = GpuDevice.of(buffer.group().device());
            this.stream = stream;
            this.experts = experts;
        }

        /** Queues a step of both batches: what one has sent travels while the other computes. Returns the ends of both. */
        List<CombineResult> step(Batch a, Batch b) {
            LowLatencyDispatchResult sentA = buffer.lowLatencyDispatch(a.request);
            LowLatencyDispatchResult sentB = buffer.lowLatencyDispatch(b.request);
            sentA.receive();
            CombineResult sumA = combine(a, sentA);
            sentB.receive();
            CombineResult sumB = combine(b, sentB);
            sumA.receive();
            sumB.receive();
            return List.of(sumA, sumB);
        }

        /** Queues the experts on the stream of the operations around them, and the sending half of the combine. */
        private CombineResult combine(Batch batch, LowLatencyDispatchResult sent) {
            int number = buffer.group().rank();
            Tensor y = buffer.nextLowLatencyCombineInput();
            experts.launch(
                    stream,
                    gpu.info().multiprocessors(),
                    sent.x().address(),
                    sent.scales().orElseThrow().address(),
                    sent.rowsPerExpert().address(),
                    y.address(),
                    buffer.placement().localExperts(number),
                    buffer.maxLowLatencyRows(),
                    HIDDEN,
                    buffer.placement().expertsOf(number)[0]);
            return buffer.lowLatencyCombine(LowLatencyCombineRequest.builder(y, sent.handle())
                    .topkWeights(batch.weights)
                    .out(batch.out)
                    .receiveHook()
                    .build());
        }
    }

    /** Inputs and outputs of one batch, at the same addresses in every step. */
    private static final class Batch {
        private final GpuDevice gpu;
        private final int rank;
        private final int number;
        private final Tensor x;
        private final Tensor ids;
        private final Tensor weights;
        private final Tensor out;
        private final LowLatencyDispatchRequest request;

        Batch(Rank rank, TensorArena arena, int number) {
            this.gpu = rank.gpu;
            this.rank = rank.buffer.group().rank();
            this.number = number;
            x = arena.tensor(DataType.BF16, TOKENS, HIDDEN);
            ids = arena.int32(ids(), TOKENS, TOP_K);
            weights = arena.fp32(weights(), TOKENS, TOP_K);
            out = arena.tensor(DataType.BF16, TOKENS, HIDDEN);
            request = LowLatencyDispatchRequest.builder(x, ids)
                    .format(WireFormat.FP8)
                    .receiveHook()
                    .build();
        }

        void load(int step) {
            gpu.upload(Numbers.bytes(tokens(step)), x.memory());
        }

        /** Compares with FP32 sums in top-k order. FP8 holds the rows exactly, and all products are exact. */
        void check(int step) {
            float[] tokens = tokens(step);
            int[] ids = ids();
            float[] weights = weights();
            float[] sums = new float[tokens.length];
            for (int i = 0; i < ids.length; i++) {
                for (int h = i / TOP_K * HIDDEN; h < (i / TOP_K + 1) * HIDDEN; h++) {
                    sums[h] += ids[i] < 0 ? 0 : weights[i] * (ids[i] + 1) * tokens[h];
                }
            }
            for (int h = 0; h < sums.length; h++) {
                sums[h] = Numbers.bf16(sums[h]);
            }
            assertThat(gpu.floats(out)).as("batch %d, step %d", number, step).isEqualTo(sums);
        }

        private long seed() {
            return 10L * rank + number;
        }

        /** Whole numbers below 16, with one 448 in each block of channels, so that the scale of the block is 1; times a power of two. */
        private float[] tokens(int step) {
            SplittableRandom random = new SplittableRandom(100L * step + seed());
            float[] tokens = new float[TOKENS * HIDDEN];
            for (int i = 0; i < tokens.length; i++) {
                float whole = i % EpShape.SCALE_BLOCK == 17 ? 448 : random.nextInt(31) - 15;
                tokens[i] = Math.scalb(whole, -(i / EpShape.SCALE_BLOCK) % 5);
            }
            return tokens;
        }

        private int[] ids() {
            return Numbers.route(seed(), TOKENS, TOP_K, EXPERTS);
        }

        private float[] weights() {
            return Numbers.weights(seed(), TOKENS * TOP_K);
        }
    }
}
