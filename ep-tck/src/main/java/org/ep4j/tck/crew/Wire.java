package org.ep4j.tck.crew;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Messages between a crew and its processes, one a line: a mark, and the fields in Base64. A JSON library would take a fifth of
 * the processor time that a rank process takes to start.
 */
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

    private static final String MARK = "ep4j-rank ";

    private Wire() {}

    static String encode(Message message) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            write(out, message.kind().name());
            out.writeBoolean(message.run().isPresent());
            if (message.run().isPresent()) {
                Run run = message.run().get();
                write(out, run.name());
                write(out, run.scenario());
                write(out, run.parameters());
                out.writeInt(run.ranks());
                write(out, run.settings());
                write(out, run.factory());
                out.writeLong(run.timeoutMillis());
            }
            out.writeBoolean(message.failed());
            write(out, message.detail());
            write(out, message.facts());
            out.writeLong(message.nanos());
        } catch (IOException e) {
            throw new UncheckedIOException("memory cannot be written", e);
        }
        return MARK + Base64.getEncoder().withoutPadding().encodeToString(bytes.toByteArray());
    }

    /** Empty when the line is not a message: something else printed it. */
    static Optional<Message> decode(String line) {
        // What was printed without an end of line comes before it.
        int mark = line.indexOf(MARK);
        if (mark < 0) {
            return Optional.empty();
        }
        try {
            byte[] bytes = Base64.getDecoder().decode(line.substring(mark + MARK.length()));
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
            Kind kind = Kind.valueOf(text(in));
            Optional<Run> run = in.readBoolean()
                    ? Optional.of(new Run(text(in), text(in), map(in), in.readInt(), map(in), text(in), in.readLong()))
                    : Optional.empty();
            return Optional.of(new Message(kind, run, in.readBoolean(), text(in), map(in), in.readLong()));
        } catch (IOException | IllegalArgumentException e) {
            // Another line that the process printed may have come in between.
            return Optional.empty();
        }
    }

    /** Not as {@link DataOutputStream#writeUTF}, which ends at 65,535 bytes: stack traces of all threads are longer. */
    private static void write(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static String text(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > in.available()) {
            throw new IOException("a text is " + length + " bytes long, but only " + in.available()
                    + " bytes of its message are left");
        }
        return new String(in.readNBytes(length), StandardCharsets.UTF_8);
    }

    private static void write(DataOutputStream out, Map<String, String> map) throws IOException {
        out.writeInt(map.size());
        for (Map.Entry<String, String> entry : map.entrySet()) {
            write(out, entry.getKey());
            write(out, entry.getValue());
        }
    }

    private static Map<String, String> map(DataInputStream in) throws IOException {
        Map<String, String> map = new TreeMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            map.put(text(in), text(in));
        }
        return map;
    }
}
