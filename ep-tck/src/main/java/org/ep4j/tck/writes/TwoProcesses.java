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
import org.ep4j.tck.ranks.ReservedPort;

/**
 * Runs two ranks in a process each. A class of the backend's tests is the main class of the second process, and calls {@link
 * #second} and then {@link System#exit}.
 */
public final class TwoProcesses {
    private static final String HOST = "127.0.0.1";
    private static final int ROUNDS = 20;
    private static final int SLOT = 1 << 16;
    private static final int LARGEST = 20_000;

    /** Exit status of a rank that dies on purpose. */
    private static final int DEAD = 9;

    private TwoProcesses() {}

    /** The code of one rank. */
    public interface Part {
        /** Runs on one rank; every exception is a failure. */
        void run(OpenContext context, WriteExchange exchange);
    }

    /**
     * Runs rank 0: starts rank 1, exchanges rounds with it, and waits for its end.
     *
     * @param main main class of rank 1, on this class path
     * @param arguments first arguments of rank 1; two more follow, for {@link #second(TwoRanks, String, String)}
     * @param dies whether rank 1 dies in the middle, which rank 0 must find
     * @throws AssertionError when a check fails
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
     * Runs rank 0 with other code.
     *
     * @param arguments first arguments of rank 1; one more follows, the port for {@link #second(TwoRanks, String, Part)}
     * @param status expected exit status of rank 1
     */
    public static void first(TwoRanks ranks, Class<?> main, List<String> arguments, int status, Part part)
            throws IOException, InterruptedException {
        Process other;
        try (ReservedPort port = ReservedPort.reserve()) {
            other = start(main, arguments, port.number());
            try {
                run(ranks, 0, port.number(), part);
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
     * Runs rank 1.
     *
     * @param ranks the same as in the process of rank 0
     * @param dies the last argument but one of this process
     * @param port the last argument of this process
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
     * Runs rank 1 with other code.
     *
     * @param port the last argument of this process
     */
    public static void second(TwoRanks ranks, String port, Part part) {
        run(ranks, 1, Integer.parseInt(port), part);
    }

    private static void run(TwoRanks given, int rank, int port, Part part) {
        EpConfig config = given.config().toBuilder()
                .set(EpKeys.BOOTSTRAP_SECRET.name(), "two processes")
                // On an emulated CPU a process takes long to start.
                .set(EpKeys.SETUP_TIMEOUT.name(), given.patience())
                .build();
        TwoRanks ranks = new TwoRanks(given.provider(), given.plan(), config, given.patience());
        try (Bootstrap bootstrap = Bootstrap.tcp(rank, 2, InetSocketAddress.createUnresolved(HOST, port), config)) {
            OpenContext context = ranks.context(bootstrap);
            try (WriteExchange exchange = ranks.exchange(context, SLOT, LARGEST)) {
                part.run(context, exchange);
            }
        }
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
