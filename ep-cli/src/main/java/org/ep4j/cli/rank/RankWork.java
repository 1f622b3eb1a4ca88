package org.ep4j.cli.rank;

import java.time.Duration;
import java.util.function.Consumer;
import org.ep4j.Bootstrap;
import org.ep4j.BufferSize;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.cli.rank.WorkSpec.Mode;
import org.ep4j.cli.rank.WorkSpec.Part;
import org.ep4j.plan.GroupPlan;

/** The work of one rank process, from joining to its last message. */
public final class RankWork {
    private static final Duration MEETING = Duration.ofMinutes(2);

    /** Warm-up rounds that have the same inputs, since these take longer to make than a round does. */
    private static final int ROUNDS_BY_INPUTS = 5;

    /** Short rounds for each warm-up round: with 40 of these enough for the JVM's optimizing compiler. */
    private static final int SHORT_ROUNDS = 150;

    private static final long SHORT_ROUNDS_NANOS = Duration.ofSeconds(4).toNanos();
    private static final int FEW_TOKENS = 2;

    /** One round of dispatch and combine, over and over. */
    interface Exchange {
        /**
         * Makes the inputs of the rounds that follow.
         *
         * @param number chooses data and routing
         */
        void prepare(int number);

        /**
         * Runs a round on this rank with the inputs that were prepared last; collective.
         *
         * @param validate true to compare everything that arrives with the reference
         */
        void round(boolean validate);
    }

    private final WorkSpec spec;
    private final Consumer<RankMessage> parent;

    public RankWork(WorkSpec spec, Consumer<RankMessage> parent) {
        this.spec = spec;
        this.parent = parent;
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
            Recorder recorder = new Recorder(Meeting.of(spec.barrierFile(), group, MEETING));
            try (RankContext context = new RankContext(spec, group, buffer, recorder)) {
                run(group, buffer, context);
            }
        }
    }

    private void run(EpGroup group, EpBuffer buffer, RankContext context) {
        BufferSize size = buffer.size();
        parent.accept(new RankMessage.Joined(
                GroupPlan.of(group.plan()).summary(),
                group.plan().backends(),
                size.symmetricBytes(),
                size.localBytes()));
        int rounds = spec.warmup() + spec.iterations();
        int total = rounds * spec.parts().size();
        int done = 0;
        for (Part part : spec.parts()) {
            if (spec.measureCeiling() && !spec.barrierFile().isEmpty()) {
                runShortRounds(context, part);
            }
            Exchange exchange = exchange(context, part);
            for (int round = 0; round < rounds; round++) {
                boolean counting = round >= spec.warmup();
                if (counting || round % ROUNDS_BY_INPUTS == 0) {
                    exchange.prepare(round);
                }
                context.recorder().counting(counting);
                exchange.round(spec.validate() && round >= rounds - spec.validateRounds());
                done++;
                if (group.rank() == 0) {
                    parent.accept(new RankMessage.Progress(done, total, part.mode() + " round " + (round + 1)));
                }
            }
        }
        context.recorder().samples().forEach(parent);
        context.checks().results().forEach(parent);
        RankMessage.Sent.of(group.rank(), group.traffic()).forEach(parent);
    }

    private static Exchange exchange(RankContext context, Part part) {
        return part.mode() == Mode.HT ? new HighThroughput(context, part) : new LowLatency(context, part);
    }

    /**
     * Runs operations with few tokens until the JVM has compiled what an operation does once, in which it otherwise spends some 100 us, at most
     * 4 s. Every rank of the machine sees the same times of meeting, so that all end at the same round.
     */
    private void runShortRounds(RankContext context, Part part) {
        Exchange exchange = exchange(
                context, new Part(part.mode(), Math.min(FEW_TOKENS, part.tokens()), part.wire(), part.extras()));
        exchange.prepare(0);
        context.recorder().counting(false);
        long start = context.recorder().meet();
        for (int round = 0; round < (long) SHORT_ROUNDS * spec.warmup(); round++) {
            if (context.recorder().meet() - start > SHORT_ROUNDS_NANOS) {
                return;
            }
            exchange.round(false);
        }
    }
}
