package org.ep4j.examples.llm;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuKernel;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;

/**
 * The model's layers on a GPU: the same as {@link HostModel}, and the exchange of {@link ExpertParallel}, by kernels that are
 * compiled by the path of ep4j's own. Everything is queued on one stream, and the host waits only at the end of a step, or, where
 * each kind of work is timed, after each. Every sum is in an order of its own, so a token's result does not depend on its batch.
 * Keys and values are BF16.
 */
final class GpuModel implements Model, AutoCloseable {
    private static final int THREADS = 256;

    /** Far beyond the deadline of an exchange, which ends it first. */
    private static final Duration LONGEST = Duration.ofMinutes(5);

    private static final int PRODUCT_ROWS = THREADS / 32;

    /** Bytes a token before the addresses of caches: id, position, row that logits are wanted of; a multiple of 8. */
    private static final int CACHES = 16;

    /** Scores are taken in units of log2, since the kernels have that exponential. */
    private static final double LOG2_E = 1.4426950408889634;

    /** By the source that has them. */
    private static final Map<String, List<String>> KERNELS = Map.of(
            "embed", List.of("embed"),
            "norm", List.of("rms_norm"),
            "rope", List.of("rope"),
            "attention", List.of("attention"),
            "router", List.of("router"),
            "product", List.of("product"),
            "experts", List.of("gate_up", "down"),
            "add", List.of("add_rows"));

    private final ModelConfig config;
    private final Weights<DeviceMemory> weights;
    private final GpuDevice device;
    private final EpBuffer buffer;
    private final TensorArena arena;
    private final Spent spent;
    private final GpuStream stream;
    private final Optional<Cublas> cublas;
    private final List<GpuKernels> sources = new ArrayList<>();
    private final Map<String, GpuKernel> kernels = new HashMap<>();
    private final DeviceMemory turns;
    private final List<Pointers> experts = new ArrayList<>();
    private final List<Batch> batches = new ArrayList<>();
    private final Map<Integer, DeviceMemory> caches = new HashMap<>();
    private final DeviceMemory middle;
    private final DeviceMemory products;
    private final int ranks;

    /** Addresses of the matrices of a layer's experts. */
    private record Pointers(DeviceMemory gate, DeviceMemory up, DeviceMemory down) {}

    /**
     * Takes its memory. Collective.
     *
     * @param decodeTokens most tokens of a batch in a step of decode
     */
    GpuModel(EpGroup group, Weights<DeviceMemory> weights, TensorArena arena, Spent spent, int decodeTokens) {
        this.config = weights.config();
        this.weights = weights;
        this.device = GpuDevice.of(group.device());
        this.arena = arena;
        this.spent = spent;
        this.ranks = group.size();
        this.stream = device.createStream();
        this.buffer = group.createBuffer(EpShape.builder(config.hidden(), config.experts(), config.topK())
                        .maxTokens(Experts.PREFILL_TOKENS)
                        .maxLowLatencyTokens(decodeTokens)
                        .build())
                .withOptions(OpOptions.DEFAULT.onStream(stream.handle()).asynchronous());
        this.cublas = Cublas.open(device.id(), arena, stream.handle());
        KERNELS.forEach((source, names) -> {
            GpuKernels loaded = device.compile(source + ".cu", source("bf16.cu") + source(source + ".cu"));
            sources.add(loaded);
            names.forEach(name -> kernels.put(name, loaded.kernel(name, THREADS, 0)));
        });
        this.turns = turns();
        for (Weights.Layer<DeviceMemory> layer : weights.layers()) {
            experts.add(new Pointers(
                    addresses(layer.experts().stream().map(Weights.Expert::gate).toList()),
                    addresses(layer.experts().stream().map(Weights.Expert::up).toList()),
                    addresses(layer.experts().stream().map(Weights.Expert::down).toList())));
        }
        int most = Math.max(Experts.PREFILL_TOKENS, decodeTokens);
        batches.add(new Batch(most));
        batches.add(new Batch(decodeTokens));
        // High throughput: every selection of every token could come here. Low latency: rows of each expert from each
        // rank.
        long rows = Math.max(
                (long) ranks * Experts.PREFILL_TOKENS * config.topK(),
                (long) weights.layers().get(0).experts().size() * ranks * decodeTokens);
        this.middle = arena.memory(rows * config.expertHidden() * 2);
        this.products = arena.memory((long) ranks * Experts.PREFILL_TOKENS * config.topK() * config.hidden() * 2);
    }

    /** What computes. */
    String describe() {
        return device.id() + ", " + device.info().architecture() + (cublas.isPresent() ? ", cuBLAS in prefill" : "");
    }

    @Override
    public Optional<EpBuffer> buffer() {
        return Optional.of(buffer);
    }

    private static String source(String name) {
        try (InputStream in = GpuModel.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException(name + " is missing from the jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Cosine and sine of each position and pair of elements. */
    private DeviceMemory turns() {
        int half = config.headDim() / 2;
        ByteBuffer all = direct((long) config.longest() * half * 8);
        for (int position = 0; position < config.longest(); position++) {
            for (int i = 0; i < half; i++) {
                float angle = (float) Math.pow(config.ropeTheta(), -2.0 * i / config.headDim()) * position;
                all.putFloat((float) Math.cos(angle)).putFloat((float) Math.sin(angle));
            }
        }
        return upload(device, arena, all.flip());
    }

    private DeviceMemory addresses(List<DeviceMemory> memory) {
        ByteBuffer all = direct(8L * Math.max(1, memory.size()));
        memory.forEach(one -> all.putLong(one.address()));
        return upload(device, arena, all.clear());
    }

    /** Copies bytes into memory of their own. */
    static DeviceMemory upload(EpDevice device, TensorArena arena, ByteBuffer bytes) {
        DeviceMemory memory = arena.memory(bytes.remaining());
        device.upload(bytes, memory);
        return memory;
    }

    private static ByteBuffer direct(long bytes) {
        return ByteBuffer.allocateDirect(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
    }

    private void launch(String kernel, long blocks, long... fields) {
        if (blocks > 0) {
            GpuKernel loaded = kernels.get(kernel);
            if (loaded == null) {
                throw new IllegalStateException("no kernel " + kernel);
            }
            loaded.launch(stream, Math.toIntExact(blocks), fields);
        }
    }

    private void mark(Spent.Work work) {
        if (spent.isDetailed()) {
            stream.synchronize(LONGEST);
            spent.on(work);
        }
    }

    @Override
    public List<float[]> prefill(List<Slice> slices) {
        Batch batch = batches.get(0);
        batch.begin(slices, true);
        DispatchRequest request = DispatchRequest.builder(batch.rows(), batch.ids())
                .topkWeights(batch.shares())
                .layout(RowLayout.BY_EXPERT)
                .worstCase()
                .build();
        Optional<EpEvent> last = Optional.empty();
        for (int layer = 0; layer < config.layers(); layer++) {
            batch.attend(layer);
            mark(Spent.Work.ATTENTION);
            batch.route(layer);
            mark(Spent.Work.ROUTER);
            DispatchResult arrived = buffer.dispatch(request);
            mark(Spent.Work.DISPATCH);
            Tensor results = Tensor.of(products, DataType.BF16, arrived.rows(), config.hidden());
            multiply(
                    layer,
                    arrived.x().address(),
                    results.address(),
                    arrived.expertOffsets().address(),
                    0,
                    arrived.topkWeights().orElseThrow().address(),
                    0);
            mark(Spent.Work.EXPERTS);
            CombineResult sums = buffer.combine(results, arrived.handle());
            batch.add(sums.out());
            last = Optional.of(sums.event());
            mark(Spent.Work.COMBINE);
        }
        // Throws when an exchange failed: what was computed behind it on the stream is void.
        last.ifPresent(event -> event.await(LONGEST));
        return batch.logits();
    }

    /**
     * Two batches take turns: the rows of one travel while the other is computed. With one batch nothing is computed meanwhile, so
     * its exchanges are not split.
     */
    @Override
    public List<float[]> decode(List<List<Slice>> slices) {
        List<Batch> all = batches.subList(0, slices.size());
        for (int i = 0; i < all.size(); i++) {
            all.get(i).begin(slices.get(i), false);
        }
        boolean split = all.size() > 1;
        List<LowLatencyDispatchRequest> requests =
                all.stream().map(batch -> batch.dispatch(split)).toList();
        List<LowLatencyDispatchResult> dispatched = new ArrayList<>();
        List<CombineResult> combined = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            dispatched.clear();
            for (int i = 0; i < all.size(); i++) {
                all.get(i).attend(layer);
                mark(Spent.Work.ATTENTION);
                all.get(i).route(layer);
                mark(Spent.Work.ROUTER);
                dispatched.add(buffer.lowLatencyDispatch(requests.get(i)));
                mark(Spent.Work.DISPATCH);
            }
            combined.clear();
            for (int i = 0; i < all.size(); i++) {
                LowLatencyDispatchResult arrived = dispatched.get(i);
                if (split) {
                    arrived.receive();
                    mark(Spent.Work.DISPATCH);
                }
                Tensor results = multiply(layer, arrived);
                mark(Spent.Work.EXPERTS);
                combined.add(buffer.lowLatencyCombine(all.get(i).combine(results, arrived.handle(), split)));
                mark(Spent.Work.COMBINE);
            }
            for (int i = 0; i < all.size(); i++) {
                if (split) {
                    combined.get(i).receive();
                }
                all.get(i).add(combined.get(i).out());
                mark(Spent.Work.COMBINE);
            }
        }
        // Throws when an exchange failed: what was computed behind it on the stream is void.
        combined.forEach(sums -> sums.event().await(LONGEST));
        List<float[]> logits = new ArrayList<>();
        all.forEach(batch -> logits.addAll(batch.logits()));
        return logits;
    }

    /** The experts' products of what a low-latency dispatch delivered, where combine sends from. */
    private Tensor multiply(int layer, LowLatencyDispatchResult arrived) {
        Tensor results = buffer.nextLowLatencyCombineInput();
        long stride = arrived.x().dim(1);
        multiply(
                layer,
                arrived.x().address(),
                results.address(),
                0,
                arrived.rowsPerExpert().address(),
                0,
                stride);
        return results;
    }

    /** Both halves of this rank's experts, for the rows that offsets or counts on the device name. */
    private void multiply(int layer, long x, long out, long offsets, long counts, long shares, long stride) {
        Pointers pointers = experts.get(layer);
        int own = weights.layers().get(layer).experts().size();
        long blocks = own == 0 ? 0 : 8L * device.info().multiprocessors();
        int hidden = config.hidden();
        int inner = config.expertHidden();
        launch(
                "gate_up",
                blocks,
                pointers.gate().address(),
                pointers.up().address(),
                x,
                middle.address(),
                offsets,
                counts,
                0,
                stride,
                own,
                inner,
                hidden);
        launch(
                "down",
                blocks,
                pointers.down().address(),
                0,
                middle.address(),
                out,
                offsets,
                counts,
                shares,
                stride,
                own,
                hidden,
                inner);
    }

    private DeviceMemory cache(Sequence sequence) {
        return caches.computeIfAbsent(sequence.index(), i -> arena.memory(2L * config.layers() * cacheBytes(sequence)));
    }

    /** Keys or values of one layer. */
    private long cacheBytes(Sequence sequence) {
        return 2L * sequence.longest() * config.kvHeads() * config.headDim();
    }

    /** Memory for the tokens of a batch. */
    private final class Batch {
        private final DeviceMemory x;
        private final DeviceMemory normed;
        private final DeviceMemory pairs;
        private final DeviceMemory q;
        private final DeviceMemory k;
        private final DeviceMemory v;
        private final DeviceMemory attended;
        private final DeviceMemory attendedPairs;
        private final DeviceMemory scores;
        private final DeviceMemory ids;
        private final DeviceMemory shares;
        private final DeviceMemory step;
        private final ByteBuffer stepOnHost;
        private final DeviceMemory logits;
        private final int most;
        private int tokens;
        private int chosen;
        private boolean many;

        Batch(int most) {
            long hidden = config.hidden();
            long heads = (long) config.heads() * config.headDim();
            long keys = (long) config.kvHeads() * config.headDim();
            this.most = most;
            x = arena.memory(4L * most * hidden);
            normed = arena.memory(4L * most * hidden);
            pairs = arena.memory(2L * most * hidden);
            q = arena.memory(4L * most * heads);
            k = arena.memory(4L * most * keys);
            v = arena.memory(4L * most * keys);
            attended = arena.memory(4L * most * heads);
            attendedPairs = arena.memory(2L * most * heads);
            scores = arena.memory(4L * most * config.experts());
            ids = arena.memory(4L * most * config.topK());
            shares = arena.memory(4L * most * config.topK());
            stepOnHost = direct((long) CACHES * most + 16L * most * config.layers());
            step = arena.memory(stepOnHost.capacity());
            // Prompts that end in one step: more are computed one after the other.
            logits = arena.memory(4L * most * config.vocabulary());
        }

        /** Token ids, positions, rows that logits are wanted of, and where the caches lie, in one copy. */
        void begin(List<Slice> all, boolean prefill) {
            many = prefill;
            tokens = 0;
            chosen = 0;
            for (Slice slice : all) {
                DeviceMemory cache = cache(slice.sequence());
                for (int position = slice.position(); position < slice.end(); position++) {
                    stepOnHost.putInt(4 * tokens, slice.sequence().token(position));
                    stepOnHost.putInt(4 * (most + tokens), position);
                    for (int layer = 0; layer < config.layers(); layer++) {
                        long keys = cache.address() + 2L * layer * cacheBytes(slice.sequence());
                        stepOnHost.putLong(CACHES * most + 8 * (2 * layer * most + tokens), keys);
                        stepOnHost.putLong(
                                CACHES * most + 8 * ((2 * layer + 1) * most + tokens),
                                keys + cacheBytes(slice.sequence()));
                    }
                    tokens++;
                }
                if (slice.choosesNext()) {
                    stepOnHost.putInt(4 * (2 * most + chosen++), tokens - 1);
                }
            }
            device.upload(stepOnHost.duplicate().clear(), step);
            launch("embed", tokens, step.address(), weights.embedding().address(), x.address(), config.hidden());
        }

        private void norm(DeviceMemory by, long rows, long out, long outPairs, long count) {
            launch(
                    "rms_norm",
                    count,
                    x.address(),
                    rows,
                    by.address(),
                    out,
                    outPairs,
                    config.hidden(),
                    bits(config.epsilon()));
        }

        /**
         * A product of all tokens: many by cuBLAS, always of the same number of rows, so that its kernel and with it the order of
         * sums are the same; few by a kernel of our own, which reads the weights once for eight of them.
         *
         * @param in FP32
         * @param inPairs the same in BF16
         */
        private void product(
                DeviceMemory matrix,
                DeviceMemory in,
                DeviceMemory inPairs,
                DeviceMemory out,
                int rows,
                int columns,
                boolean add) {
            if (tokens == 0) {
                return;
            }
            if (many && cublas.isPresent()) {
                cublas.get().multiply(matrix.address(), inPairs.address(), out.address(), most, rows, columns, add);
            } else {
                product(matrix, in, out, tokens, rows, columns, add);
            }
        }

        private void product(
                DeviceMemory matrix, DeviceMemory in, DeviceMemory out, int count, int rows, int columns, boolean add) {
            launch(
                    "product",
                    (rows + PRODUCT_ROWS - 1) / PRODUCT_ROWS,
                    matrix.address(),
                    in.address(),
                    out.address(),
                    count,
                    rows,
                    columns,
                    add ? 1 : 0);
        }

        void attend(int index) {
            Weights.Layer<DeviceMemory> layer = weights.layers().get(index);
            int hidden = config.hidden();
            int heads = config.heads() * config.headDim();
            int keyRows = config.kvHeads() * config.headDim();
            norm(layer.inputNorm(), 0, normed.address(), pairs.address(), tokens);
            product(layer.q(), normed, pairs, q, heads, hidden, false);
            product(layer.k(), normed, pairs, k, keyRows, hidden, false);
            product(layer.v(), normed, pairs, v, keyRows, hidden, false);
            long positions = step.address() + 4L * most;
            long keys = step.address() + (long) CACHES * most + 16L * index * most;
            launch(
                    "rope",
                    tokens,
                    q.address(),
                    k.address(),
                    v.address(),
                    layer.qNorm().address(),
                    layer.kNorm().address(),
                    turns.address(),
                    positions,
                    keys,
                    keys + 8L * most,
                    config.heads(),
                    config.kvHeads(),
                    config.headDim(),
                    bits(config.epsilon()));
            launch(
                    "attention",
                    (long) tokens * config.heads(),
                    q.address(),
                    keys,
                    keys + 8L * most,
                    positions,
                    attended.address(),
                    many && cublas.isPresent() ? attendedPairs.address() : 0,
                    config.heads(),
                    config.kvHeads(),
                    config.headDim(),
                    bits(LOG2_E / Math.sqrt(config.headDim())));
            product(layer.o(), attended, attendedPairs, x, hidden, heads, true);
        }

        void route(int index) {
            Weights.Layer<DeviceMemory> layer = weights.layers().get(index);
            norm(layer.expertNorm(), 0, normed.address(), pairs.address(), tokens);
            product(layer.router(), normed, scores, tokens, config.experts(), config.hidden(), false);
            launch(
                    "router",
                    (tokens + PRODUCT_ROWS - 1) / PRODUCT_ROWS,
                    scores.address(),
                    ids.address(),
                    shares.address(),
                    tokens,
                    config.experts(),
                    config.topK(),
                    config.normalizeTopK() ? 1 : 0);
        }

        Tensor rows() {
            return Tensor.of(pairs, DataType.BF16, tokens, config.hidden());
        }

        Tensor ids() {
            return Tensor.of(ids, DataType.INT32, tokens, config.topK());
        }

        Tensor shares() {
            return Tensor.of(shares, DataType.FP32, tokens, config.topK());
        }

        LowLatencyDispatchRequest dispatch(boolean split) {
            LowLatencyDispatchRequest.Builder request = LowLatencyDispatchRequest.builder(rows(), ids());
            return (split ? request.receiveHook() : request).build();
        }

        LowLatencyCombineRequest combine(Tensor results, LowLatencyHandle handle, boolean split) {
            LowLatencyCombineRequest.Builder request =
                    LowLatencyCombineRequest.builder(results, handle).topkWeights(shares());
            return (split ? request.receiveHook() : request).build();
        }

        void add(Tensor sums) {
            long all = (long) tokens * config.hidden() / 2;
            launch("add_rows", (all + THREADS - 1) / THREADS, x.address(), sums.address(), all);
        }

        List<float[]> logits() {
            norm(weights.norm(), step.address() + 8L * most, normed.address(), 0, chosen);
            if (chosen > 0) {
                product(weights.head(), normed, logits, chosen, config.vocabulary(), config.hidden(), false);
            }
            stream.synchronize(LONGEST);
            List<float[]> all = new ArrayList<>();
            for (int i = 0; i < chosen; i++) {
                ByteBuffer bytes = direct(4L * config.vocabulary());
                device.download(logits.slice(4L * i * config.vocabulary(), 4L * config.vocabulary()), bytes);
                float[] values = new float[config.vocabulary()];
                bytes.clear().asFloatBuffer().get(values);
                all.add(values);
            }
            if (spent.isDetailed()) {
                spent.on(Spent.Work.HEAD);
            }
            return all;
        }
    }

    private static long bits(double value) {
        return Float.floatToRawIntBits((float) value) & 0xffffffffL;
    }

    @Override
    public void close() {
        try {
            stream.synchronize(LONGEST);
        } finally {
            buffer.close();
        }
        // Work that has not ended keeps its kernels and its stream.
        cublas.ifPresent(Cublas::close);
        sources.forEach(GpuKernels::close);
        stream.close();
    }
}
