package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.tck.writes.TwoRanks;
import org.ep4j.tck.writes.WriteExchange;

/** A process in which something is missing: prints what the probe finds, and what opening says. */
public final class UnpluggedRank {
    private UnpluggedRank() {}

    /** No arguments. */
    public static void main(String[] arguments) {
        probe(Map.of()).checks().forEach(check -> System.out.println(line(check)));
        System.out.println("opening: " + open(Map.of()));
        System.exit(0);
    }

    static String line(Check check) {
        return check.code() + " " + check.status() + " " + check.detail() + " -- " + check.remedy();
    }

    static ProbeReport probe(Map<String, String> settings) {
        EpConfig config = TwoRanks.config(new IbrcProvider(), settings);
        return new IbrcProvider().probe(ProbeRequest.of(Device.HOST, config, Duration.ofSeconds(60)));
    }

    /** Opens the backend on two ranks and sends a little; what the first that failed said, or that it went well. */
    static String open(Map<String, String> settings) {
        TwoRanks ranks = VerbsScenarios.ranks(List.of("rxe0:1"), List.of("rxe1:1"), 1, settings);
        try {
            ranks.run(context -> {
                try (WriteExchange exchange = ranks.exchange(context, 1 << 16, 20_000);
                        EpBackend backend = exchange.backend()) {
                    exchange.rounds(3);
                    context.bootstrap().barrier("done " + backend.id(), ranks.patience());
                } catch (RuntimeException e) {
                    // Else the other rank waits for this one until its deadline.
                    context.bootstrap().close();
                    throw e;
                }
            });
            return "went well";
        } catch (AssertionError e) {
            StringBuilder all = new StringBuilder(String.valueOf(e.getMessage()));
            for (Throwable other : e.getSuppressed()) {
                all.append(" -- and: ").append(other.getMessage());
            }
            return all.toString();
        }
    }
}
