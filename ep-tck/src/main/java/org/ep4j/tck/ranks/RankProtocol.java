package org.ep4j.tck.ranks;

import java.lang.invoke.MethodHandles;
import java.util.Base64;
import java.util.Optional;
import org.ep4j.EpMismatchException;
import org.ep4j.plan.RecordCodec;

/**
 * Messages between a pool and its rank processes, one a line: a mark, and the record in Base64. A JSON library would take a fifth of
 * the processor time that a rank process takes to start.
 */
final class RankProtocol {
    /** The kinds of messages. */
    enum Kind {
        /** To a rank: run a job. */
        RUN,
        /** To a rank: send the stacks of all threads. */
        DUMP,
        /** From a rank: it has joined and takes jobs. */
        READY,
        /** From a rank: a job has ended, or is to end by SIGKILL. */
        ENDED,
        /** From a rank: the stacks of all threads. */
        STACKS
    }

    /**
     * A message.
     *
     * @param job present in RUN
     * @param report present in ENDED
     * @param stacks not empty in STACKS
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

    private RankProtocol() {}

    static String encode(Message message) {
        return MARK + Base64.getEncoder().withoutPadding().encodeToString(CODEC.encode(message));
    }

    /** Returns the message of a line; empty where something else has printed the line. */
    static Optional<Message> decode(String line) {
        // Text that was printed without a line feed precedes the mark.
        int mark = line.indexOf(MARK);
        if (mark < 0) {
            return Optional.empty();
        }
        try {
            return Optional.of(CODEC.decode(Base64.getDecoder().decode(line.substring(mark + MARK.length()))));
        } catch (EpMismatchException | IllegalArgumentException e) {
            // Another thread of the process may have printed into the line.
            return Optional.empty();
        }
    }
}
