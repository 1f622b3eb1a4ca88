package org.ep4j.cli.rank;

import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.ep4j.Bootstrap;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;

/** One rank of a demo or bench, from joining to its last message. */
public record ExchangeRank(ExchangeSpec spec, Consumer<RankMessage> parent) {
    private static final Duration START_DEADLINE = Duration.ofMinutes(2);

    /** Warm-up rounds that have the same inputs, since these take longer to make than a round does. */
    private static final int ROUNDS_BY_INPUTS = 5;

    /** Short rounds for each warm-up round: with 40 of these enough for the JVM's optimizing compiler. */
    private static final int SHORT_ROUNDS = 150;

    private static final long SHORT_ROUNDS_NANOS = Duration.ofSeconds(4).toNanos();
    private static final int FEW_TOKENS = 2;

    /** Rounds of a bench behind those that are timed, in which it is read what operations allocate. */
    private static final int ALLOCATION_ROUNDS = 5;

    /** Dispatch and combine of inputs that are prepared. */
    interface Round {
        /**
         * Runs a round on this rank. Collective.
         *
         * @param validate true to compare everything that arrives with the reference
         */
        void run(boolean validate);
    }

    /** Joins as the {@code localRank}-th process of its host, runs every part and reports; differences from the reference, too. */
    public void run(Bootstrap bootstrap, int localRank) {
        try (EpGroup group = EpGroup.join(bootstrap, spec.settings(localRank).build())) {
            run(group);
        }
    }

    /** Runs every part in a group and reports; the group stays open. */
    public void run(EpGroup group) {
        try (EpBuffer buffer = group.createBuffer(spec.shape())) {
            Recorder recorder = new Recorder(SpinBarrier.of(spec.barrierFile(), group, START_DEADLINE));
            try (RankContext context = RankContext.of(spec, group, buffer, recorder)) {
                run(context);
            }
        }
    }

    private void run(RankContext context) {
        EpGroup group = context.group();
        parent.accept(RankMessage.Joined.of(group, context.buffer().size()));
        int rounds = spec.warmup() + spec.iterations();
        int total = rounds * spec.parts().size();
        int done = 0;
        for (Part part : spec.parts()) {
            if (spec.measureCeiling() && !spec.barrierFile().isEmpty()) {
                runShortRounds(context, part);
            }
            IntFunction<Round> exchange = exchange(context, part);
            Round prepared = exchange.apply(0);
            for (int round = 0; round < rounds; round++) {
                boolean counting = round >= spec.warmup();
                if (round > 0 && (counting || round % ROUNDS_BY_INPUTS == 0)) {
                    prepared = exchange.apply(round);
                }
                context.recorder().counting(counting);
                prepared.run(spec.validate() && round >= rounds - spec.validateRounds());
                done++;
                if (group.rank() == 0) {
                    parent.accept(new RankMessage.Progress(done, total, part.mode() + " round " + (round + 1)));
                }
            }
            if (spec.measureCeiling()) {
                context.recorder().allocations();
                for (int i = 0; i < ALLOCATION_ROUNDS; i++) {
                    prepared.run(false);
                }
            }
        }
        context.recorder().samples().forEach(parent);
        context.checks().results().forEach(parent);
        RankMessage.Sent.of(group.rank(), group.traffic()).forEach(parent);
    }

    /** Returns what makes the inputs of the rounds that follow; its argument chooses data and routing. */
    private static IntFunction<Round> exchange(RankContext context, Part part) {
        return part.mode() == Mode.HT
                ? new HighThroughput(context, part)::prepare
                : new LowLatency(context, part)::prepare;
    }

    /**
     * Runs operations with few tokens until the JVM has compiled what an operation does once, in which it otherwise spends some 100 us, at most
     * 4 s. Every rank of the machine sees the same start times, so that all end at the same round.
     */
    private void runShortRounds(RankContext context, Part part) {
        int tokens = Math.min(FEW_TOKENS, part.tokens());
        Part few = new Part(part.mode(), tokens, part.wire(), part.layout(), part.extras());
        Round round = exchange(context, few).apply(0);
        context.recorder().counting(false);
        long start = context.recorder().awaitStart();
        for (int i = 0; i < (long) SHORT_ROUNDS * spec.warmup(); i++) {
            if (context.recorder().awaitStart() - start > SHORT_ROUNDS_NANOS) {
                return;
            }
            round.run(false);
        }
    }
}
