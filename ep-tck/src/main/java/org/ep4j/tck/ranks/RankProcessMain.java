package org.ep4j.tck.ranks;

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

/** The main class of the processes of {@link ProcessRankPool}: reads jobs from standard input, and writes reports to standard output. */
public final class RankProcessMain {
    private final PrintStream out;
    private final RankRunner runner;

    private RankProcessMain(PrintStream out) {
        this.out = out;
        Bootstrap base = Bootstrap.fromEnvironment(EpConfig.load());
        this.runner = new RankRunner(base, this::requestKill);
    }

    /** Runs jobs until standard input ends. */
    public static void main(String[] args) throws IOException {
        PrintStream protocol = stream(FileDescriptor.out);
        // Output of other code must not mix with the protocol.
        System.setOut(stream(FileDescriptor.err));
        new RankProcessMain(protocol).serve();
        Runtime.getRuntime().halt(0);
    }

    private static PrintStream stream(FileDescriptor descriptor) {
        return new PrintStream(new FileOutputStream(descriptor), true, StandardCharsets.UTF_8);
    }

    private void serve() throws IOException {
        send(RankProtocol.Message.of(RankProtocol.Kind.READY));
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            RankProtocol.Message message = RankProtocol.decode(line)
                    .orElseThrow(() -> new IOException("received a line that is not a message"));
            if (message.kind() == RankProtocol.Kind.DUMP) {
                send(RankProtocol.Message.stacks(RankRunner.stacks()));
            }
            message.job().ifPresent(this::start);
        }
        runner.close(false);
    }

    private void start(Job job) {
        Thread thread = new Thread(() -> send(RankProtocol.Message.ended(runner.run(job))), "tck-rank");
        thread.setDaemon(true);
        thread.start();
    }

    /** Requests SIGKILL from the pool, and never returns. */
    private void requestKill(Map<String, String> facts) {
        send(RankProtocol.Message.ended(runner.report(RankReport.End.KILLED, "", facts)));
        while (true) {
            try {
                Thread.sleep(1000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private synchronized void send(RankProtocol.Message message) {
        out.println(RankProtocol.encode(message));
    }
}
