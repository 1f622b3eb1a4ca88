package org.ep4j.backend.efa;

import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.config.EpConfig;
import org.ep4j.spi.HostPosted;
import org.jspecify.annotations.Nullable;

/** Two ranks over a provider of libfabric. Arguments are the provider, then names of scenarios; none means all. */
public final class FabricScenarios {
    static final Duration PATIENCE = Duration.ofSeconds(20);

    private FabricScenarios() {}

    /** A scenario. */
    interface Scenario {
        void run() throws IOException, InterruptedException;
    }

    /** All of them, by name. */
    static Map<String, Scenario> all(String provider) {
        Map<String, String> plain = Map.of("ep.efa.provider", provider);
        Map<String, Scenario> all = new LinkedHashMap<>();
        all.put("processes", () -> RankProcess.exchangeWithAnother(provider, false));
        all.put("killed", () -> RankProcess.exchangeWithAnother(provider, true));
        if (provider.equals(Providers.SHM)) {
            // It does not connect threads.
            return all;
        }
        all.put("exchange", () -> exchange(plain, 60));
        all.put("one-write-at-a-time", () -> exchange(with(plain, "ep.efa.max-inflight-bytes", "4KiB"), 20));
        all.put("slow-receiver", () -> slowReceiver(plain));
        all.put("receiver-without-calls", () -> receiverWithoutCalls(plain));
        all.put("no-answer", () -> noAnswer(with(plain, "ep.timeout", "1s")));
        all.put("cut-off", () -> cutOff(plain));
        return all;
    }

    /** Runs scenarios; ends with an exception when one fails. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Map<String, Scenario> all = all(arguments[0]);
        List<String> names = arguments.length == 1
                ? List.copyOf(all.keySet())
                : List.of(arguments).subList(1, arguments.length);
        for (String name : names) {
            Scenario scenario = all.get(name);
            if (scenario == null) {
                throw new IllegalArgumentException("no scenario " + name + "; there are " + all.keySet());
            }
            long start = System.nanoTime();
            scenario.run();
            System.out.println("ok " + name + " " + (System.nanoTime() - start) / 1_000_000 + " ms");
        }
        System.exit(0);
    }

    private static Map<String, String> with(Map<String, String> plain, String key, String value) {
        Map<String, String> settings = new HashMap<>(plain);
        settings.put(key, value);
        return settings;
    }

    private static void exchange(Map<String, String> settings, int rounds) {
        FabricRanks.run(FabricRanks.config(settings), context -> {
            try (Exchange exchange = new Exchange(context, 1 << 20, 200_000, PATIENCE)) {
                exchange.rounds(rounds);
                context.bootstrap().barrier("done", PATIENCE);
            }
        });
    }

    /** More than fits into any queue goes to a rank that makes no calls for a while. */
    private static void slowReceiver(Map<String, String> settings) {
        int writes = 5_000;
        FabricRanks.run(FabricRanks.config(settings), context -> {
            try (Exchange exchange = new Exchange(context, 1 << 16, 20_000, PATIENCE)) {
                HostPosted posted = exchange.posted();
                if (context.rank() == 0) {
                    for (int i = 1; i <= writes; i++) {
                        posted.write(1, 8, 8, 8 + i % 512);
                        posted.advance(1, 7, i);
                    }
                    posted.drain(1, PATIENCE);
                } else {
                    LockSupport.parkNanos(200_000_000);
                    long last = 0;
                    long end = System.nanoTime() + PATIENCE.toNanos();
                    while (last < writes) {
                        long now = posted.seen(7, 0);
                        if (now < last || System.nanoTime() - end > 0) {
                            throw new AssertionError("counter at " + now + " after " + last);
                        }
                        last = now;
                        LockSupport.parkNanos(10_000);
                    }
                }
                context.bootstrap().barrier("done", PATIENCE);
            }
        });
    }

    /** What is sent is received although the receiver calls nothing. */
    private static void receiverWithoutCalls(Map<String, String> settings) {
        FabricRanks.run(FabricRanks.config(settings), context -> {
            try (Exchange exchange = new Exchange(context, 1 << 20, 200_000, PATIENCE)) {
                if (context.rank() == 0) {
                    exchange.posted().write(1, 0, 0, 1 << 20);
                    exchange.posted().advance(1, 1, 1);
                    exchange.posted().drain(1, PATIENCE);
                }
                context.bootstrap().barrier("done", PATIENCE);
                if (context.rank() == 1 && exchange.posted().seen(1, 0) != 1) {
                    throw new AssertionError("counter at " + exchange.posted().seen(1, 0));
                }
            }
        });
    }

    /** A peer whose backend is stuck takes nothing: whoever waits for it is told in time, with what it waited for. */
    private static void noAnswer(Map<String, String> settings) {
        EpConfig config = FabricRanks.config(settings);
        FabricRanks.run(config, context -> {
            try (Exchange exchange = new Exchange(context, 1 << 16, 20_000, PATIENCE)) {
                if (context.rank() == 1) {
                    Link link = exchange.link();
                    link.hold(
                            () -> context.bootstrap().barrier("stuck", PATIENCE),
                            () -> context.bootstrap().barrier("told", PATIENCE));
                } else {
                    context.bootstrap().barrier("stuck", PATIENCE);
                    long start = System.nanoTime();
                    try {
                        for (int i = 1; i < 100_000; i++) {
                            exchange.posted().write(1, 0, 0, 4096);
                            exchange.posted().advance(1, 3, i);
                        }
                        throw new AssertionError("nothing was late");
                    } catch (EpTimeoutException e) {
                        check(e.getMessage(), "rank 1", "took nothing", "ep.timeout");
                    }
                    if (System.nanoTime() - start > 10_000_000_000L) {
                        throw new AssertionError("told after " + (System.nanoTime() - start) / 1_000_000 + " ms");
                    }
                    context.bootstrap().barrier("told", PATIENCE);
                }
                context.bootstrap().barrier("done", PATIENCE);
            }
        });
    }

    /** A rank cuts its peer off: it says so at once, and the peer finds it lost. */
    private static void cutOff(Map<String, String> settings) {
        FabricRanks.run(FabricRanks.config(settings), context -> {
            try (Exchange exchange = new Exchange(context, 1 << 16, 20_000, PATIENCE)) {
                exchange.rounds(5);
                context.bootstrap().barrier("half", PATIENCE);
                if (context.rank() == 0) {
                    exchange.posted().disconnect(1);
                }
                context.bootstrap().barrier("cut", PATIENCE);
                try {
                    exchange.rounds(1000);
                    throw new AssertionError("nothing was lost");
                } catch (EpPeerLostException e) {
                    check(e.getMessage(), "rank " + (1 - context.rank()), "cannot be reached");
                }
                context.bootstrap().barrier("done", PATIENCE);
            }
        });
    }

    static void check(@Nullable String message, String... parts) {
        for (String part : parts) {
            if (message == null || !message.contains(part)) {
                throw new AssertionError("expected \"" + part + "\" in: " + message);
            }
        }
    }
}
