package org.ep4j.examples.llm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.ExpertPlacement;
import org.ep4j.TensorArena;
import org.ep4j.config.EpKeys;

/** One rank: joins the others, reads its part of the model, generates. */
final class Rank {
    /** Reading a large model from a slow disk takes its time, and some ranks are done before others. */
    private static final Duration READING = Duration.ofHours(1);

    private static final Duration LAST_BARRIER = Duration.ofSeconds(30);

    private final Job job;
    private final Listener listener;
    private final Spent spent = new Spent(System::nanoTime);

    Rank(Job job, Listener listener) {
        this.job = job;
        this.listener = listener;
    }

    /** Runs; where there is an exchange, with the variables of a launcher, such as {@code RANK}. */
    void run() {
        if (!job.exchange()) {
            Weights<Matrix> weights = inHeap(expert -> true);
            Compute compute = new Compute(job.threads());
            listener.ready(compute.product().name());
            try (Model model = new HostModel(weights, new Experts.Alone(weights, compute, spent), compute, spent)) {
                generate(0, 1, model);
            }
            return;
        }
        EpConfig config =
                EpConfig.builder().set(EpKeys.DEVICE.name(), job.device()).build();
        try (EpGroup group = EpGroup.join(config)) {
            if (job.device().startsWith("host")) {
                host(group);
            } else {
                gpu(group);
            }
        }
    }

    private void host(EpGroup group) {
        Weights<Matrix> weights = inHeap(mine(group));
        group.barrier(READING);
        Compute compute = new Compute(job.threads());
        listener.ready(compute.product().name());
        Experts experts = new ExpertParallel(group, weights, compute, spent, decodeTokens(group));
        try (Model model = new HostModel(weights, experts, compute, spent)) {
            generate(group.rank(), group.size(), model);
            leave(group);
        }
    }

    private void gpu(EpGroup group) {
        EpDevice device = group.device();
        TensorArena arena = device.arena();
        Weights<DeviceMemory> weights = build(
                mine(group),
                source -> (name, rows, columns) -> GpuModel.upload(device, arena, source.bytes(name, rows, columns)));
        group.barrier(READING);
        try (GpuModel model = new GpuModel(group, weights, arena, spent, decodeTokens(group))) {
            listener.ready(model.describe());
            generate(group.rank(), group.size(), model);
            leave(group);
        }
        // Not after a failure: kernels may still use the memory, and the process ends.
        arena.close();
    }

    private IntPredicate mine(EpGroup group) {
        ExpertPlacement placement = ExpertPlacement.block(job.config().experts(), group.size());
        return expert -> placement.rankOf(expert) == group.rank();
    }

    /** Tokens of a batch: the prompts of the rank that has most, by the number of batches. */
    private int decodeTokens(EpGroup group) {
        int sequences = (job.prompts().size() + group.size() - 1) / group.size();
        return Math.max(1, (sequences + job.batches() - 1) / job.batches());
    }

    /** Waits for the others, which may still read from this rank's memory; once a rank is lost there may be no barrier. */
    private static void leave(EpGroup group) {
        try {
            if (group.lostRanks().isEmpty()) {
                group.barrier(LAST_BARRIER);
            }
        } catch (EpException e) {
            System.getLogger("org.ep4j.examples.llm")
                    .log(System.Logger.Level.DEBUG, "the last barrier failed; a rank may be lost", e);
        }
    }

    private Weights<Matrix> inHeap(IntPredicate mine) {
        return build(
                mine, source -> (name, rows, columns) -> Matrix.of(rows, columns, source.bytes(name, rows, columns)));
    }

    /** How bytes become a tensor. */
    private interface Reader<T> {
        Weights.Source<T> of(TensorBytes bytes);
    }

    private <T> Weights<T> build(IntPredicate mine, Reader<T> reader) {
        ModelConfig config = job.config();
        IntConsumer loaded = layers -> listener.loaded(layers, config.layers());
        if (job.model().isEmpty()) {
            return Weights.build(config, mine, loaded, reader.of(TensorBytes.RANDOM));
        }
        try (Safetensors files = Safetensors.open(job.model().get())) {
            return Weights.build(config, mine, loaded, reader.of(files));
        }
    }

    private void generate(int rank, int ranks, Model model) {
        List<Sequence> sequences = new ArrayList<>();
        for (int i = rank; i < job.prompts().size(); i += ranks) {
            sequences.add(new Sequence(i, job.prompts().get(i), job.tokens(), job.config()));
        }
        Optional<Texts> texts = job.model().map(Texts::new);
        try {
            Generation.Decoder decoder =
                    texts.<Generation.Decoder>map(t -> t::complete).orElse(ids -> "");
            int haltAt = job.halt()
                    .filter(h -> h.rank() == rank)
                    .map(Job.Halt::tokens)
                    .orElse(0);
            Generation generation = new Generation(
                    Schedule.of(job.prompts(), ranks, job.tokens(), job.batches()),
                    sequences,
                    job.config(),
                    model,
                    new Generation.Options(job.temperature(), job.seed(), haltAt),
                    decoder,
                    listener,
                    spent,
                    System::nanoTime);
            Listener.Totals totals = generation.run();
            for (Sequence s : sequences) {
                listener.finished(new Listener.Continuation(
                        s.index(), s.prompt(), s.generated(), decoder.complete(s.generated()), s.logitsAfterPrompt()));
            }
            listener.done(totals);
        } finally {
            texts.ifPresent(Texts::close);
        }
    }
}
