package org.ep4j.backend.ibrc;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpPeerLostException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.EpPlan;
import org.ep4j.spi.Bootstrap;

/** Rank 1 in a process of its own. */
public final class RankProcess {
    private static final int ROUNDS = 20;

    private RankProcess() {}

    /** Arguments: port of the rendezvous, and whether to die in the middle. */
    public static void main(String[] arguments) {
        boolean dies = Boolean.parseBoolean(arguments[1]);
        EpPlan plan = VerbsRanks.plan(VerbsScenarios.TWO, VerbsScenarios.OTHER_TWO, 2);
        EpConfig config = VerbsRanks.config(settings());
        try (Bootstrap bootstrap = Bootstraps.tcp(1, 2, "127.0.0.1", Integer.parseInt(arguments[0]), config);
                Exchange exchange = new Exchange(
                        VerbsRanks.context(plan, 1, bootstrap, config), 1 << 16, 20_000, VerbsScenarios.PATIENCE)) {
            exchange.rounds(ROUNDS);
            if (dies) {
                Runtime.getRuntime().halt(9);
            }
            bootstrap.barrier("done", VerbsScenarios.PATIENCE);
        }
        System.exit(0);
    }

    private static Map<String, String> settings() {
        Map<String, String> settings = new HashMap<>(VerbsScenarios.QUICK);
        settings.put("ep.bootstrap.secret", "scenarios");
        return settings;
    }

    /** This process is rank 0; where the other dies, this one is told. */
    static void exchangeWithAnother(boolean dies) throws IOException, InterruptedException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        EpPlan plan = VerbsRanks.plan(VerbsScenarios.TWO, VerbsScenarios.OTHER_TWO, 2);
        EpConfig config = VerbsRanks.config(settings());
        Process other = start(port, dies);
        try (Bootstrap bootstrap = Bootstraps.tcp(0, 2, "127.0.0.1", port, config);
                Exchange exchange = new Exchange(
                        VerbsRanks.context(plan, 0, bootstrap, config), 1 << 16, 20_000, VerbsScenarios.PATIENCE)) {
            try {
                exchange.rounds(dies ? 1000 : ROUNDS);
                if (dies) {
                    throw new AssertionError("nothing was lost");
                }
                bootstrap.barrier("done", VerbsScenarios.PATIENCE);
            } catch (EpPeerLostException e) {
                if (!dies) {
                    throw e;
                }
                VerbsScenarios.check(e.getMessage(), "rank 1 (host-1", "cannot be reached");
            }
        } finally {
            if (!other.waitFor(60, TimeUnit.SECONDS)) {
                other.destroyForcibly();
            }
        }
        if (other.exitValue() != (dies ? 9 : 0)) {
            throw new AssertionError("rank 1 ended with " + other.exitValue());
        }
    }

    private static Process start(int port, boolean dies) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> words = List.of(
                java,
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                RankProcess.class.getName(),
                Integer.toString(port),
                Boolean.toString(dies));
        return new ProcessBuilder(words).inheritIO().start();
    }
}
