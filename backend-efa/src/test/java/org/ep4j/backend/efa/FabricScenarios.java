package org.ep4j.backend.efa;

import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpTimeoutException;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.tck.writes.StalledReceiver;
import org.ep4j.tck.writes.TwoProcesses;
import org.ep4j.tck.writes.TwoRanks;
import org.ep4j.tck.writes.WriteExchange;
import org.ep4j.tck.writes.WriteScenarios;
import org.ep4j.testing.Guard;
import org.ep4j.transport.posted.PostedBackend;

/** Two ranks over a provider of libfabric. */
final class FabricScenarios {
    static final Duration PATIENCE = Guard.minute();

    private FabricScenarios() {}

    /** A scenario. */
    interface Scenario {
        void run() throws IOException, InterruptedException;
    }

    /** All of them, by name. */
    static Map<String, Scenario> all(String provider) {
        Map<String, String> plain = Map.of("ep.efa.provider", provider);
        Map<String, Scenario> all = new LinkedHashMap<>();
        all.put("processes", () -> TwoProcesses.first(ranks(plain), RankProcess.class, List.of(provider), false));
        all.put("killed", () -> TwoProcesses.first(ranks(plain), RankProcess.class, List.of(provider), true));
        all.put(
                "held-between-processes",
                () -> TwoProcesses.first(
                        ranks(full(provider)),
                        RankProcess.class,
                        List.of(provider, "held"),
                        0,
                        held(provider).part(PATIENCE)));
        if (provider.equals(Providers.SHM)) {
            // It does not connect threads.
            return all;
        }
        all.put("exchange", () -> WriteScenarios.exchange(ranks(plain), 1 << 20, 200_000, 60));
        all.put(
                "one-write-at-a-time",
                () -> WriteScenarios.exchange(
                        ranks(with(plain, "ep.nic.max-inflight-bytes", "4KiB")), 1 << 20, 200_000, 20));
        all.put("concurrent-signals", () -> WriteScenarios.concurrentSignals(ranks(plain)));
        all.put("slow-receiver", () -> slowReceiver(plain));
        all.put("held", () -> WriteScenarios.stalledReceiver(ranks(full(provider)), held(provider)));
        all.put("receiver-without-calls", () -> receiverWithoutCalls(plain));
        all.put("no-answer", () -> noAnswer(with(plain, "ep.timeout", "1s")));
        return all;
    }

    /** Over one and two wires between RoCE ports of {@code ci/rdma-guest}, in threads. */
    static Map<String, Scenario> overVerbs() {
        Map<String, String> verbs = Map.of("ep.efa.provider", "verbs");
        TwoRanks onePort = ranks(verbs, List.of("rxe0"), List.of("rxe1"));
        TwoRanks twoPorts = ranks(verbs, List.of("rxe0", "rxe2"), List.of("rxe1", "rxe3"));
        Map<String, Scenario> all = new LinkedHashMap<>();
        all.put("one-port", () -> WriteScenarios.exchange(onePort, 1 << 20, 200_000, 20));
        all.put("two-ports", () -> WriteScenarios.exchange(twoPorts, 1 << 20, 200_000, 20));
        all.put(
                "held",
                () -> WriteScenarios.stalledReceiver(
                        ranks(full("verbs"), List.of("rxe0"), List.of("rxe1")), held("verbs")));
        for (int i = 0; i < 5; i++) {
            int late = i;
            all.put("closed-" + i, () -> closed(twoPorts, late));
        }
        return all;
    }

    /** One rank closes its end while the other, which knows nothing of it, goes on writing. */
    private static void closed(TwoRanks ranks, int lateMillis) {
        ranks.run(context -> {
            WriteExchange exchange = ranks.exchange(context, 1 << 16, 20_000);
            exchange.rounds(3);
            context.bootstrap().barrier("half", PATIENCE);
            if (context.rank() == 0) {
                LockSupport.parkNanos(lateMillis * 1_000_000L);
                exchange.backend().close();
            } else {
                WriteScenarios.expectLoss(exchange, "rank 0", "cannot be reached");
            }
            context.bootstrap().barrier("done", PATIENCE);
            exchange.close();
        });
    }

    /** Two ranks on one host, with what this machine has. */
    static TwoRanks ranks(Map<String, String> settings) {
        return ranks(settings, List.of(), List.of());
    }

    /** The same, over NICs that are named for each of them. Nothing ends by time unless the settings say so. */
    private static TwoRanks ranks(Map<String, String> settings, List<String> first, List<String> second) {
        EfaProvider provider = new EfaProvider();
        String patience = PATIENCE.toSeconds() + "s";
        Map<String, String> all = new HashMap<>(
                Map.of(EpKeys.TIMEOUT.name(), patience, EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.name(), patience));
        all.putAll(settings);
        EpConfig config = TwoRanks.config(provider, all);
        ProbeReport report = provider.probe(ProbeRequest.of(Device.HOST, config, PATIENCE));
        if (!report.usable()) {
            throw new AssertionError(report.failures().toString());
        }
        GroupPlan plan = TwoRanks.plan(EfaProvider.ID, report.facts(), first, second, 1);
        return new TwoRanks(provider, plan, config, PATIENCE);
    }

    /** Settings with which a peer may have the most small writes in flight. */
    static Map<String, String> full(String provider) {
        return Map.of("ep.efa.provider", provider, "ep.nic.max-inflight-messages", "4096", "ep.timeout", "1s");
    }

    /**
     * Twelve times as many immediates as may wait for a rank that does not look, so eight times as many as its queue of
     * completions holds. Over tcp the kernel has room for all of them; other providers may stop sooner.
     */
    static StalledReceiver held(String provider) {
        return new StalledReceiver(
                (backend, meanwhile) ->
                        ((PostedBackend<?>) backend).connection(0).hold(meanwhile),
                12 * Link.CREDIT,
                3 * Link.CREDIT,
                provider.equals(Providers.TCP) ? Link.CREDIT : 1,
                Link.CREDIT);
    }

    private static Map<String, String> with(Map<String, String> plain, String key, String value) {
        Map<String, String> settings = new HashMap<>(plain);
        settings.put(key, value);
        return settings;
    }

    /** More than fits into any queue goes to a rank that makes no calls for a while. */
    private static void slowReceiver(Map<String, String> settings) {
        int writes = 5_000;
        TwoRanks ranks = ranks(settings);
        ranks.run(context -> {
            try (WriteExchange exchange = ranks.exchange(context, 1 << 16, 20_000)) {
                HostPosted posted = exchange.posted();
                if (context.rank() == 0) {
                    for (int i = 1; i <= writes; i++) {
                        posted.put(1, 8, 8, 8 + i % 512);
                        posted.signal(1, 7, i);
                    }
                    posted.flush(1, System.nanoTime() + PATIENCE.toNanos());
                } else {
                    LockSupport.parkNanos(200_000_000);
                    long[] last = {0};
                    while (last[0] < writes) {
                        Guard.until("a counter moves on from " + last[0], () -> posted.counter(7, 0) != last[0]);
                        long now = posted.counter(7, 0);
                        if (now < last[0]) {
                            throw new AssertionError("counter at " + now + " after " + last[0]);
                        }
                        last[0] = now;
                    }
                }
                context.bootstrap().barrier("done", PATIENCE);
            }
        });
    }

    /** What is sent is received although the receiver calls nothing: otherwise the flush would not end. */
    private static void receiverWithoutCalls(Map<String, String> settings) {
        TwoRanks ranks = ranks(settings);
        ranks.run(context -> {
            try (WriteExchange exchange = ranks.exchange(context, 1 << 20, 200_000)) {
                if (context.rank() == 0) {
                    exchange.posted().put(1, 0, 0, 1 << 20);
                    exchange.posted().signal(1, 1, 1);
                    exchange.posted().flush(1, System.nanoTime() + PATIENCE.toNanos());
                }
                context.bootstrap().barrier("flushed", PATIENCE);
                if (context.rank() == 1) {
                    // The receiver may acknowledge a write before it counts it.
                    Guard.until("the counter is at 1", () -> exchange.posted().counter(1, 0) == 1);
                }
                context.bootstrap().barrier("counted", PATIENCE);
            }
        });
    }

    /**
     * A peer whose backend is stuck takes nothing: the rank that waits for it gets an error that says what it waited for, before the
     * peer's own wait ends.
     */
    private static void noAnswer(Map<String, String> settings) {
        TwoRanks ranks = ranks(settings);
        ranks.run(context -> {
            try (WriteExchange exchange = ranks.exchange(context, 1 << 16, 20_000)) {
                if (context.rank() == 1) {
                    ((PostedBackend<?>) exchange.backend()).connection(0).hold(() -> {
                        context.bootstrap().barrier("stuck", PATIENCE);
                        context.bootstrap().barrier("notified", PATIENCE);
                    });
                } else {
                    context.bootstrap().barrier("stuck", PATIENCE);
                    try {
                        for (int i = 1; i < 100_000; i++) {
                            exchange.posted().put(1, 0, 0, 4096);
                            exchange.posted().signal(1, 3, i);
                        }
                        throw new AssertionError("nothing was late");
                    } catch (EpTimeoutException e) {
                        WriteScenarios.check(e.getMessage(), "rank 1", "accepted no data", "ep.timeout");
                    }
                    context.bootstrap().barrier("notified", PATIENCE);
                }
                context.bootstrap().barrier("done", PATIENCE);
            }
        });
    }
}
