package org.ep4j.tck.crew;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;

/**
 * A rank as a process of its own: takes jobs from standard input until that ends, and reports on standard output. Started
 * by {@link ProcessCrew}.
 */
public final class RankProcessMain {
    private final PrintStream out;
    private final RankRunner runner;

    private RankProcessMain(PrintStream out) {
        this.out = out;
        Bootstrap base = Bootstrap.fromEnvironment(EpConfig.load());
        this.runner = new RankRunner(base, this::askForDeath);
    }

    /** Runs until standard input ends. */
    public static void main(String[] args) throws IOException {
        PrintStream protocol = stream(FileDescriptor.out);
        // What others print must not mix with the protocol.
        System.setOut(stream(FileDescriptor.err));
        new RankProcessMain(protocol).serve();
        Runtime.getRuntime().halt(0);
    }

    private static PrintStream stream(FileDescriptor descriptor) {
        return new PrintStream(new FileOutputStream(descriptor), true, StandardCharsets.UTF_8);
    }

    private void serve() throws IOException {
        send(Wire.Message.of(Wire.Kind.READY));
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Wire.Message message =
                    Wire.decode(line).orElseThrow(() -> new IOException("received a line that is not a message"));
            if (message.kind() == Wire.Kind.DUMP) {
                send(Wire.Message.stacks(RankRunner.stacks()));
            }
            message.job().ifPresent(this::start);
        }
        runner.close();
    }

    private void start(Job job) {
        Thread thread = new Thread(() -> send(Wire.Message.ended(runner.run(job))), "tck-rank");
        thread.setDaemon(true);
        thread.start();
    }

    /** Never returns: the crew kills this process with SIGKILL. */
    private void askForDeath(Map<String, String> facts) {
        send(Wire.Message.ended(runner.report(RankReport.End.KILLED, "", facts)));
        while (true) {
            try {
                Thread.sleep(1000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private synchronized void send(Wire.Message message) {
        out.println(Wire.encode(message));
    }
}
