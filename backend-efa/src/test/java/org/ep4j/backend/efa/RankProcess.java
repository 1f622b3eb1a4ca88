package org.ep4j.backend.efa;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
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

    /** Arguments: provider, port of the rendezvous, and whether to die in the middle. */
    public static void main(String[] arguments) {
        boolean dies = Boolean.parseBoolean(arguments[2]);
        EpConfig config = config(arguments[0]);
        EpPlan plan = FabricRanks.plan(config);
        try (Bootstrap bootstrap = Bootstraps.tcp(1, 2, "127.0.0.1", Integer.parseInt(arguments[1]), config);
                Exchange exchange = new Exchange(
                        FabricRanks.context(plan, 1, bootstrap, config), 1 << 16, 20_000, FabricScenarios.PATIENCE)) {
            exchange.rounds(ROUNDS);
            if (dies) {
                Runtime.getRuntime().halt(9);
            }
            bootstrap.barrier("done", FabricScenarios.PATIENCE);
        }
        System.exit(0);
    }

    private static EpConfig config(String provider) {
        return FabricRanks.config(Map.of("ep.efa.provider", provider, "ep.bootstrap.secret", "scenarios"));
    }

    /** This process is rank 0; where the other dies, this one is told. */
    static void exchangeWithAnother(String provider, boolean dies) throws IOException, InterruptedException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        EpConfig config = config(provider);
        EpPlan plan = FabricRanks.plan(config);
        Process other = start(provider, port, dies);
        try (Bootstrap bootstrap = Bootstraps.tcp(0, 2, "127.0.0.1", port, config);
                Exchange exchange = new Exchange(
                        FabricRanks.context(plan, 0, bootstrap, config), 1 << 16, 20_000, FabricScenarios.PATIENCE)) {
            try {
                exchange.rounds(dies ? 1000 : ROUNDS);
                if (dies) {
                    throw new AssertionError("nothing was lost");
                }
                bootstrap.barrier("done", FabricScenarios.PATIENCE);
            } catch (EpPeerLostException e) {
                if (!dies) {
                    throw e;
                }
                FabricScenarios.check(e.getMessage(), "rank 1 (host-1", "cannot be reached");
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

    private static Process start(String provider, int port, boolean dies) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> words = List.of(
                java,
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                RankProcess.class.getName(),
                provider,
                Integer.toString(port),
                Boolean.toString(dies));
        return new ProcessBuilder(words).inheritIO().start();
    }
}
