package org.ep4j.tck.crew;

import java.lang.invoke.MethodHandles;
import java.util.Base64;
import java.util.Optional;
import org.ep4j.EpMismatchException;
import org.ep4j.plan.RecordCodec;

/**
 * Messages between a crew and its processes, one a line: a mark, and the record in Base64. A JSON library would take a fifth of
 * the processor time that a rank process takes to start.
 */
final class Wire {
    /** What a line is. */
    enum Kind {
        /** Crew to rank: run a job. */
        RUN,
        /** Crew to rank: say what every thread does. */
        DUMP,
        /** Rank to crew: joined, ready for jobs. */
        READY,
        /** Rank to crew: a job ended, or is to end by SIGKILL. */
        ENDED,
        /** Rank to crew: what every thread does. */
        STACKS
    }

    /**
     * One line.
     *
     * @param kind what it is
     * @param job with RUN
     * @param report with ENDED
     * @param stacks with STACKS
     */
    record Message(Kind kind, Optional<Job> job, Optional<RankReport> report, String stacks) {
        static Message of(Kind kind) {
            return new Message(kind, Optional.empty(), Optional.empty(), "");
        }

        static Message run(Job job) {
            return new Message(Kind.RUN, Optional.of(job), Optional.empty(), "");
        }

        static Message ended(RankReport report) {
            return new Message(Kind.ENDED, Optional.empty(), Optional.of(report), "");
        }

        static Message stacks(String text) {
            return new Message(Kind.STACKS, Optional.empty(), Optional.empty(), text);
        }
    }

    private static final String MARK = "ep4j-rank ";
    private static final RecordCodec<Message> CODEC =
            new RecordCodec<>(MethodHandles.lookup(), Message.class, "a message", 1);

    private Wire() {}

    static String encode(Message message) {
        return MARK + Base64.getEncoder().withoutPadding().encodeToString(CODEC.encode(message));
    }

    /** Empty when the line is not a message: something else printed it. */
    static Optional<Message> decode(String line) {
        // What was printed without an end of line comes before it.
        int mark = line.indexOf(MARK);
        if (mark < 0) {
            return Optional.empty();
        }
        try {
            return Optional.of(CODEC.decode(Base64.getDecoder().decode(line.substring(mark + MARK.length()))));
        } catch (EpMismatchException | IllegalArgumentException e) {
            // Another line that the process printed may have come in between.
            return Optional.empty();
        }
    }
}
