package org.ep4j.backend.ibrc;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.EpTraffic;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.writes.StalledReceiver;
import org.ep4j.tck.writes.TwoProcesses;
import org.ep4j.tck.writes.TwoRanks;
import org.ep4j.tck.writes.WriteExchange;
import org.ep4j.tck.writes.WriteScenarios;
import org.ep4j.testing.Guard;
import org.ep4j.transport.posted.PostedBackend;

/**
 * Two ranks on real verbs, between ports that are joined in pairs: {@code rxe0} with {@code rxe1}, {@code rxe2} with {@code
 * rxe3}, as ci/rdma-guest sets them up.
 */
final class VerbsScenarios {
    private static final Duration PATIENCE = Guard.minute();
    private static final int SLOT = 1 << 16;
    private static final int LARGEST = 20_000;
    private static final List<String> ONE = List.of("rxe0:1");
    private static final List<String> OTHER_ONE = List.of("rxe1:1");
    private static final List<String> TWO = List.of("rxe0:1", "rxe2:1");
    private static final List<String> OTHER_TWO = List.of("rxe1:1", "rxe3:1");

    private static final Map<String, String> ATOMIC = Map.of("ep.ibrc.counters", "atomic");
    private static final Map<String, String> SMALL = Map.of("ep.ibrc.depth", "64", "ep.ibrc.stripe", "4KiB");

    /**
     * Settings with which a port that fails is found within two seconds, also where 7 retries mean retries without end. Queue pairs
     * that are to work may be late by as much, so these are for scenarios in which something fails.
     */
    private static final Map<String, String> QUICK =
            with(SMALL, Map.of("ep.ibrc.timeout", "16", "ep.ibrc.retries", "6"));

    /** Nothing ends by time: queue pairs try for a minute, however late the peer's answers are. */
    private static final Map<String, String> PATIENT = Map.of(
            "ep.ibrc.timeout",
            "21",
            "ep.ibrc.retries",
            "6",
            EpKeys.TIMEOUT.name(),
            PATIENCE.toSeconds() + "s",
            EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.name(),
            PATIENCE.toSeconds() + "s");

    private VerbsScenarios() {}

    /** A scenario. */
    interface Scenario {
        void run() throws IOException, InterruptedException;
    }

    /** All of them, by name. */
    static Map<String, Scenario> all() {
        Map<String, Scenario> all = new LinkedHashMap<>();
        for (int queuePairs : List.of(1, 4, 16)) {
            all.put("one-port-" + queuePairs, () -> exchange(ONE, OTHER_ONE, queuePairs, SMALL, 40));
            all.put("two-ports-" + queuePairs, () -> exchange(TWO, OTHER_TWO, queuePairs, SMALL, 40));
        }
        for (Map<String, String> settings : List.of(SMALL, with(SMALL, ATOMIC))) {
            all.put(
                    "concurrent-signals-" + (settings.equals(SMALL) ? "immediates" : "atomics"),
                    () -> WriteScenarios.concurrentSignals(ranks(TWO, OTHER_TWO, 4, settings)));
        }
        all.put("held", VerbsScenarios::held);
        all.put("loss", () -> disturbed("netem", "loss", "2%"));
        all.put("delay-and-reorder", () -> disturbed("netem", "delay", "2ms", "reorder", "25%"));
        for (int rail = 0; rail < 2; rail++) {
            String end = "rail" + rail + "a";
            String other = "rail" + rail + "b";
            // One of the two carries the counters.
            all.put("cable-" + rail, () -> failover(QUICK, cut(end, other), mend(end, other)));
            all.put("acknowledgements-lost-" + rail, () -> failover(QUICK, cut(other), mend(other)));
            all.put(
                    "link-down-" + rail,
                    () -> failover(
                            QUICK,
                            () -> command("ip", "link", "set", end, "down"),
                            () -> command("ip", "link", "set", end, "up")));
            all.put("cable-atomics-" + rail, () -> failover(with(QUICK, ATOMIC), cut(end, other), mend(end, other)));
        }
        all.put("last-port", VerbsScenarios::lastPort);
        all.put("processes", () -> TwoProcesses.first(twoPorts(false), RankProcess.class, List.of(), false));
        all.put("killed", () -> TwoProcesses.first(twoPorts(true), RankProcess.class, List.of(), true));
        all.put("atomics", () -> exchange(TWO, OTHER_TWO, 4, with(SMALL, ATOMIC), 40));
        return all;
    }

    /** Two ranks over ports of theirs, with so many queue pairs for each port. Nothing ends by time unless the settings say so. */
    static TwoRanks ranks(List<String> first, List<String> second, int queuePairs, Map<String, String> settings) {
        IbrcProvider provider = new IbrcProvider();
        int lanes = queuePairs * Math.max(first.size(), second.size());
        return new TwoRanks(
                provider,
                TwoRanks.plan(IbrcProvider.ID, Map.of(), first, second, lanes),
                TwoRanks.config(provider, with(PATIENT, settings)),
                PATIENCE);
    }

    /** Two ranks over two ports each. {@code fails}: one of the ranks will. */
    static TwoRanks twoPorts(boolean fails) {
        return ranks(TWO, OTHER_TWO, 2, fails ? QUICK : SMALL);
    }

    private static Map<String, String> with(Map<String, String> settings, Map<String, String> more) {
        Map<String, String> all = new HashMap<>(settings);
        all.putAll(more);
        return Map.copyOf(all);
    }

    private static void exchange(
            List<String> first, List<String> second, int queuePairs, Map<String, String> settings, int rounds) {
        WriteScenarios.exchange(ranks(first, second, queuePairs, settings), SLOT, LARGEST, rounds);
    }

    /**
     * Counted writes to a rank that looks at no completion: as many are taken as it has receives posted and as the sender may
     * have under way, then the sender fails, and all arrives once the rank looks again.
     */
    private static void held() {
        int depth = 64;
        TwoRanks ranks = ranks(
                ONE,
                OTHER_ONE,
                1,
                Map.of("ep.ibrc.depth", Integer.toString(depth), "ep.timeout", "2s", "ep.ibrc.signal-interval", "4"));
        WriteScenarios.stalledReceiver(
                ranks,
                new StalledReceiver(
                        (backend, meanwhile) ->
                                ((PostedBackend<?>) backend).connection(0).hold(meanwhile),
                        30 * depth,
                        1,
                        depth,
                        2 * depth));
    }

    private static Scenario cut(String... ends) {
        return () -> {
            for (String end : ends) {
                command("tc", "qdisc", "add", "dev", end, "root", "netem", "loss", "100%");
            }
        };
    }

    private static Scenario mend(String... ends) {
        return () -> {
            for (String end : ends) {
                command("tc", "qdisc", "del", "dev", end, "root");
            }
        };
    }

    /** An exchange over a bad wire: slower, and nothing else. What is lost is sent again after half a second. */
    private static void disturbed(String... disturbance) throws IOException, InterruptedException {
        List<String> ends = List.of("rail0a", "rail0b");
        for (String end : ends) {
            List<String> words = new ArrayList<>(List.of("tc", "qdisc", "add", "dev", end, "root"));
            words.addAll(List.of(disturbance));
            command(words.toArray(new String[0]));
        }
        try {
            exchange(ONE, OTHER_ONE, 2, with(SMALL, Map.of("ep.ibrc.timeout", "17")), 30);
        } finally {
            mend("rail0a", "rail0b").run();
        }
    }

    /** One of two ports fails in the middle of an exchange, which goes on, and every byte and counter is right. */
    private static void failover(Map<String, String> settings, Scenario fault, Scenario repair)
            throws IOException, InterruptedException {
        TwoRanks ranks = ranks(TWO, OTHER_TWO, 2, settings);
        WriteExchange[] exchanges = new WriteExchange[2];
        AtomicLong until = new AtomicLong(Long.MAX_VALUE);
        try {
            ranks.run(context -> {
                try (WriteExchange exchange = ranks.exchange(context, SLOT, LARGEST)) {
                    exchanges[context.rank()] = exchange;
                    context.bootstrap().barrier("open", PATIENCE);
                    if (context.rank() == 0) {
                        new Thread(() -> breakAndGoOn(exchanges, until, fault)).start();
                    }
                    exchange.rounds(until::get);
                    context.bootstrap().barrier("done", PATIENCE);
                }
            });
        } finally {
            repair.run();
        }
        for (WriteExchange exchange : exchanges) {
            if (failovers(exchange) != 1) {
                throw new AssertionError(failovers(exchange) + " failovers on a rank, expected 1");
            }
        }
    }

    private static int failovers(WriteExchange exchange) {
        return exchange.traffic().stream().mapToInt(EpTraffic::failovers).sum();
    }

    /** Breaks something in the middle of an exchange, which goes on for some rounds after both ranks have found it. */
    private static void breakAndGoOn(WriteExchange[] exchanges, AtomicLong until, Scenario fault) {
        try {
            runAt(exchanges[0], 15, fault);
            Guard.until(
                    "both ranks have had a failover",
                    () -> failovers(exchanges[0]) == 1 && failovers(exchanges[1]) == 1);
        } finally {
            until.set(Math.max(exchanges[0].sentRounds(), exchanges[1].sentRounds()) + 30);
        }
    }

    private static void runAt(WriteExchange exchange, long round, Scenario what) {
        Guard.until("round " + round, () -> exchange.checkedRounds() >= round);
        try {
            what.run();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The only port fails: both ranks get an error with port, peer, status and vendor error. */
    private static void lastPort() throws IOException, InterruptedException {
        TwoRanks ranks = ranks(ONE, OTHER_ONE, 2, QUICK);
        try {
            ranks.run(context -> {
                try (WriteExchange exchange = ranks.exchange(context, SLOT, LARGEST)) {
                    exchange.rounds(5);
                    context.bootstrap().barrier("half", PATIENCE);
                    if (context.rank() == 0) {
                        runAt(exchange, 0, cut("rail0a", "rail0b"));
                    }
                    context.bootstrap().barrier("cut", PATIENCE);
                    WriteScenarios.expectLoss(
                            exchange,
                            "rank " + (1 - context.rank()),
                            "rxe0:1",
                            "rxe1:1",
                            "status 12 (",
                            "vendor error 0x");
                }
            });
        } finally {
            mend("rail0a", "rail0b").run();
        }
    }

    /** True where the ports are. */
    static boolean present() {
        return List.of("rxe0", "rxe1", "rxe2", "rxe3").stream()
                .allMatch(name -> Files.exists(Path.of("/sys/class/infiniband", name)));
    }

    static void command(String... words) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(words).inheritIO().start();
        if (!process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS) || process.exitValue() != 0) {
            throw new IOException(String.join(" ", words) + " failed");
        }
    }
}
