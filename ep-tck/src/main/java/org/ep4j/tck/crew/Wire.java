package org.ep4j.tck.crew;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

/** Messages between a crew and its processes: one JSON object a line. */
final class Wire {
    /** Crew to rank: run this. */
    record Run(
            String name,
            String scenario,
            Map<String, String> parameters,
            int ranks,
            Map<String, String> settings,
            String factory,
            long timeoutMillis) {
        static Run of(Job job) {
            return new Run(
                    job.name(),
                    job.scenario(),
                    job.parameters(),
                    job.ranks(),
                    job.settings(),
                    job.factory(),
                    job.timeout().toMillis());
        }

        Job job() {
            return new Job(name, scenario, parameters, ranks, settings, factory, Duration.ofMillis(timeoutMillis));
        }
    }

    /** What a line is. */
    enum Kind {
        /** Crew to rank: run a job. */
        RUN,
        /** Crew to rank: say what every thread does. */
        DUMP,
        /** Rank to crew: joined, ready for jobs. */
        READY,
        /** Rank to crew: a job ended. */
        ENDED,
        /** Rank to crew: kill me. */
        KILL,
        /** Rank to crew: what every thread does. */
        STACKS
    }

    /**
     * One line.
     *
     * @param kind what it is
     * @param run the job, with RUN
     * @param failed with ENDED: true when the scenario threw
     * @param detail stack traces
     * @param facts what the scenario reported
     * @param nanos with ENDED: when
     */
    record Message(Kind kind, Optional<Run> run, boolean failed, String detail, Map<String, String> facts, long nanos) {
        static Message of(Kind kind) {
            return new Message(kind, Optional.empty(), false, "", Map.of(), 0);
        }

        static Message detail(Kind kind, String detail) {
            return new Message(kind, Optional.empty(), false, detail, Map.of(), 0);
        }
    }

    private static final ObjectMapper JSON = JsonMapper.shared();

    private Wire() {}

    static String encode(Message message) {
        return JSON.writeValueAsString(message);
    }

    /** Empty when the line is not a message: something else printed it. */
    static Optional<Message> decode(String line) {
        try {
            return Optional.of(JSON.readValue(line, Message.class));
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }
}
