package org.ep4j.tck.writes;

import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.OpenContext;
import org.ep4j.tck.crew.KeptPort;

/**
 * Two ranks, each in a process of its own. A class of the backend's tests is the main class of the other one, and calls {@link
 * #second} and then {@link System#exit}.
 */
public final class TwoProcesses {
    private static final String HOST = "127.0.0.1";
    private static final int ROUNDS = 20;
    private static final int SLOT = 1 << 16;
    private static final int LARGEST = 20_000;

    /** Exit status of a rank that was to die. */
    private static final int DEAD = 9;

    private TwoProcesses() {}

    /** What one rank does. */
    public interface Part {
        /** Does it; whatever it throws is a failure. */
        void run(OpenContext context, WriteExchange exchange);
    }

    /**
     * Is rank 0: starts the other one, exchanges rounds with it, and waits for its end.
     *
     * @param main its main class, on this class path
     * @param arguments its first arguments; two more follow, for {@link #second(TwoRanks, String, String)}
     * @param dies whether it dies in the middle, of which this one must be told
     * @throws AssertionError when something was not as it should be
     */
    public static void first(TwoRanks ranks, Class<?> main, List<String> arguments, boolean dies)
            throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(arguments);
        all.add(Boolean.toString(dies));
        first(ranks, main, all, dies ? DEAD : 0, (context, exchange) -> {
            if (dies) {
                WriteScenarios.expectLoss(exchange, "rank 1 (host-1", "cannot be reached");
            } else {
                exchange.rounds(ROUNDS);
                context.bootstrap().barrier("done", ranks.patience());
            }
        });
    }

    /**
     * Is rank 0, which does something else.
     *
     * @param arguments its first arguments; one more follows, the port for {@link #second(TwoRanks, String, Part)}
     * @param status with which the other one ends
     */
    public static void first(TwoRanks ranks, Class<?> main, List<String> arguments, int status, Part part)
            throws IOException, InterruptedException {
        TwoRanks known = authenticated(ranks);
        Process other;
        try (KeptPort port = KeptPort.take()) {
            other = start(main, arguments, port.number());
            try {
                run(known, 0, port.number(), part);
            } finally {
                if (!other.waitFor(ranks.patience().toMillis(), TimeUnit.MILLISECONDS)) {
                    other.destroyForcibly();
                }
            }
        }
        if (other.exitValue() != status) {
            throw new AssertionError("rank 1 ended with " + other.exitValue());
        }
    }

    /**
     * Is rank 1.
     *
     * @param ranks as those of the other process
     * @param dies the last argument but one of this process
     * @param port its last
     */
    public static void second(TwoRanks ranks, String dies, String port) {
        second(ranks, port, (context, exchange) -> {
            exchange.rounds(ROUNDS);
            if (Boolean.parseBoolean(dies)) {
                Runtime.getRuntime().halt(DEAD);
            }
            context.bootstrap().barrier("done", ranks.patience());
        });
    }

    /**
     * Is rank 1, which does something else.
     *
     * @param port the last argument of this process
     */
    public static void second(TwoRanks ranks, String port, Part part) {
        run(authenticated(ranks), 1, Integer.parseInt(port), part);
    }

    private static void run(TwoRanks ranks, int rank, int port, Part part) {
        try (Bootstrap bootstrap =
                Bootstrap.tcp(rank, 2, InetSocketAddress.createUnresolved(HOST, port), ranks.config())) {
            OpenContext context = ranks.context(bootstrap);
            try (WriteExchange exchange = ranks.exchange(context, SLOT, LARGEST)) {
                part.run(context, exchange);
            }
        }
    }

    private static TwoRanks authenticated(TwoRanks ranks) {
        EpConfig config = ranks.config().toBuilder()
                .set(EpKeys.BOOTSTRAP_SECRET.name(), "two processes")
                // An emulated processor takes long to start a process.
                .set(EpKeys.SETUP_TIMEOUT.name(), ranks.patience())
                .build();
        return new TwoRanks(ranks.provider(), ranks.plan(), config, ranks.patience());
    }

    private static Process start(Class<?> main, List<String> arguments, int port) throws IOException {
        List<String> words = new ArrayList<>(List.of(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        words.addAll(arguments);
        words.add(Integer.toString(port));
        return new ProcessBuilder(words).inheritIO().start();
    }
}
