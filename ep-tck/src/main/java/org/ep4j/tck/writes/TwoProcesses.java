package org.ep4j.tck.writes;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Bootstrap;

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

    /**
     * Is rank 0: starts the other one, exchanges rounds with it, and waits for its end.
     *
     * @param main its main class, on this class path
     * @param arguments its first arguments; two more follow, for {@link #second}
     * @param dies whether it dies in the middle, of which this one must be told
     * @throws AssertionError when something was not as it should be
     */
    public static void first(TwoRanks ranks, Class<?> main, List<String> arguments, boolean dies)
            throws IOException, InterruptedException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        TwoRanks known = authenticated(ranks);
        Process other = start(main, arguments, port, dies);
        try (Bootstrap bootstrap = Bootstraps.tcp(0, 2, HOST, port, known.config());
                WriteExchange exchange = known.exchange(known.context(0, bootstrap), SLOT, LARGEST)) {
            if (dies) {
                WriteScenarios.expectLoss(exchange, "rank 1 (host-1", "cannot be reached");
            } else {
                exchange.rounds(ROUNDS);
                bootstrap.barrier("done", ranks.patience());
            }
        } finally {
            if (!other.waitFor(ranks.patience().toMillis(), TimeUnit.MILLISECONDS)) {
                other.destroyForcibly();
            }
        }
        if (other.exitValue() != (dies ? DEAD : 0)) {
            throw new AssertionError("rank 1 ended with " + other.exitValue());
        }
    }

    /**
     * Is rank 1.
     *
     * @param ranks as those of the other process
     * @param port the last argument but one of this process
     * @param dies its last
     */
    public static void second(TwoRanks ranks, String port, String dies) {
        TwoRanks known = authenticated(ranks);
        try (Bootstrap bootstrap = Bootstraps.tcp(1, 2, HOST, Integer.parseInt(port), known.config());
                WriteExchange exchange = known.exchange(known.context(1, bootstrap), SLOT, LARGEST)) {
            exchange.rounds(ROUNDS);
            if (Boolean.parseBoolean(dies)) {
                Runtime.getRuntime().halt(DEAD);
            }
            bootstrap.barrier("done", ranks.patience());
        }
    }

    private static TwoRanks authenticated(TwoRanks ranks) {
        EpConfig config = ranks.config().toBuilder()
                .set(EpKeys.BOOTSTRAP_SECRET, "two processes")
                .build();
        return new TwoRanks(ranks.provider(), ranks.plan(), config, ranks.patience());
    }

    private static Process start(Class<?> main, List<String> arguments, int port, boolean dies) throws IOException {
        List<String> words = new ArrayList<>(List.of(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        words.addAll(arguments);
        words.addAll(List.of(Integer.toString(port), Boolean.toString(dies)));
        return new ProcessBuilder(words).inheritIO().start();
    }
}
