package org.ep4j.examples.llm;

import java.time.Duration;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.Recovery;

/** Generates the continuations of this rank's prompts, step by step with the other ranks. */
final class Generation {
    /** Longer than an operation on a GPU may take: a rank that is inside one takes part after it. */
    private static final Duration RECOVERY = Duration.ofMinutes(2);

    private static final int PRODUCT_RUNS = 5;

    /** In one step of so many, a GPU waits for each kind of work, so that its time is known. */
    private static final int DETAILED = 8;

    /** Text of tokens, where there is a tokenizer. */
    interface Decoder {
        String complete(List<Integer> ids);
    }

    /**
     * How tokens are chosen, and what happens on the way.
     *
     * @param temperature 0 for the most probable token
     * @param seed of the choice otherwise
     * @param haltAt ends this process, as if it were killed, when its sequences have so many tokens; 0 for never
     */
    record Options(float temperature, long seed, int haltAt) {}

    private final Schedule schedule;
    private final List<Sequence> sequences;
    private final Model model;
    private final ModelConfig config;
    private final Options options;
    private final Decoder decoder;
    private final Listener listener;
    private final LongSupplier clock;
    private final Spent spent;
    private final Map<Integer, Integer> shown = new HashMap<>();

    Generation(
            Schedule schedule,
            List<Sequence> sequences,
            ModelConfig config,
            Model model,
            Options options,
            Decoder decoder,
            Listener listener,
            Spent spent,
            LongSupplier clock) {
        this.schedule = schedule;
        this.sequences = sequences;
        this.config = config;
        this.model = model;
        this.options = options;
        this.decoder = decoder;
        this.listener = listener;
        this.spent = spent;
        this.clock = clock;
    }

    /** Time of all steps of a kind. */
    private static final class Phase {
        private long nanos;
        private final Map<Spent.Work, Long> work = new EnumMap<>(Spent.Work.class);
    }

    /**
     * Runs all steps. When a rank is lost, the others agree on that, mask it, and go on with the first step that not all of
     * them have finished: what it computed already is computed again, without the lost rank's experts.
     */
    Listener.Totals run() {
        Phase prefill = new Phase();
        Phase decode = new Phase();
        int counted = 0;
        int step = 0;
        while (step < schedule.steps()) {
            try {
                Phase phase = schedule.isPrefill(step) ? prefill : decode;
                if (step == schedule.steps() - 1 && !schedule.isPrefill(step)) {
                    model.keepProducts();
                }
                long start = clock.getAsLong();
                spent.begin(step % DETAILED == 0 || schedule.isPrefill(step));
                Map<Spent.Work, Long> before = times();
                step(step);
                phase.nanos += clock.getAsLong() - start;
                times().forEach((work, nanos) ->
                        phase.work.merge(work, nanos - before.getOrDefault(work, 0L), Long::sum));
                step++;
            } catch (EpException e) {
                if (e.recourse() != EpException.Recourse.RECOVER) {
                    throw e;
                }
                EpBuffer buffer = model.buffer().orElseThrow(() -> e);
                Recovery recovery = buffer.recover(RECOVERY);
                step = schedule.resume(counted, recovery.rollbackTo(), config.layers());
                counted = step;
                listener.lost(recovery.masked(), step);
            }
        }
        long decodeTokens = 0;
        long promptTokens = 0;
        for (Sequence sequence : sequences) {
            decodeTokens += Math.max(0, sequence.generated().size() - 1);
            promptTokens += sequence.prompt().size();
        }
        return new Listener.Totals(
                promptTokens,
                prefill.nanos,
                decodeTokens,
                schedule.decodeSteps(),
                decode.nanos,
                prefill.work,
                decode.work,
                products());
    }

    /** Shortest of some runs of the last step's products alone. */
    private long products() {
        long shortest = Long.MAX_VALUE;
        for (int i = 0; i < PRODUCT_RUNS; i++) {
            long start = clock.getAsLong();
            if (!model.runProducts()) {
                return 0;
            }
            shortest = Math.min(shortest, clock.getAsLong() - start);
        }
        return shortest;
    }

    private Map<Spent.Work, Long> times() {
        Map<Spent.Work, Long> all = new EnumMap<>(Spent.Work.class);
        for (Spent.Work work : Spent.Work.values()) {
            all.put(work, spent.nanos(work));
        }
        return all;
    }

    private void step(int step) {
        if (schedule.isPrefill(step)) {
            List<Slice> slices = Schedule.prefill(sequences, step);
            List<float[]> logits = model.prefill(slices);
            int next = 0;
            for (Slice slice : slices) {
                if (slice.choosesNext()) {
                    choose(slice.sequence(), 0, logits.get(next++));
                }
            }
            return;
        }
        List<List<Slice>> batches = schedule.decode(sequences, step);
        List<Slice> slices = batches.stream().flatMap(List::stream).toList();
        List<float[]> logits = model.decode(batches);
        for (int i = 0; i < slices.size(); i++) {
            choose(slices.get(i).sequence(), step - schedule.prefillSteps() + 1, logits.get(i));
        }
    }

    private void choose(Sequence sequence, int place, float[] logits) {
        if (!sequence.choose(place, logits, options.temperature(), options.seed())) {
            return;
        }
        String text = decoder.complete(sequence.generated());
        int before = shown.getOrDefault(sequence.index(), 0);
        if (text.length() > before) {
            shown.put(sequence.index(), text.length());
        }
        listener.token(
                sequence.index(), sequence.generated().get(place), text.substring(Math.min(before, text.length())));
        if (options.haltAt() > 0 && place + 1 == options.haltAt()) {
            Runtime.getRuntime().halt(137);
        }
    }
}
