package org.ep4j.tck.writes;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTraffic;
import org.jspecify.annotations.Nullable;

/** Scenarios of two ranks for every backend that posts from host threads. */
public final class WriteScenarios {
    private static final int SLOT = 1 << 16;
    private static final int LARGEST = 20_000;

    /** Threads of rank 0 that signal one counter. */
    private static final int THREADS = 4;

    /** The highest value of that counter, which is the number of words that are written. */
    private static final int HIGHEST = THREADS * 1000;

    private static final int SHARED = 11;

    /** Counter that is signalled after all others. */
    private static final int ENDED = 12;

    private WriteScenarios() {}

    /**
     * Runs rounds of writes, every byte of which is compared.
     *
     * @param slotBytes most bytes of a round, a multiple of 4096
     * @param largest most bytes of a write
     */
    public static void exchange(TwoRanks ranks, int slotBytes, int largest, int rounds) {
        ranks.run(context -> {
            try (WriteExchange exchange = ranks.exchange(context, slotBytes, largest)) {
                exchange.rounds(rounds);
                context.bootstrap().barrier("done", ranks.patience());
            }
        });
    }

    /**
     * Lets several threads of rank 0 write and signal to rank 1 at once. The counter on rank 1 must never fall and must end at the
     * highest value, all bytes must have arrived before a later signal, and values that are not above the last one must not be sent,
     * which the traffic shows where a backend reports it. A receiver that keeps the highest value hides the order of those before.
     */
    public static void concurrentSignals(TwoRanks ranks) {
        ranks.run(context -> {
            try (WriteExchange exchange = ranks.exchange(context, SLOT, LARGEST)) {
                if (context.rank() == 0) {
                    signalFromThreads(exchange, ranks.patience());
                    repeatSignals(exchange, ranks.patience());
                } else {
                    checkSignals(exchange, ranks.patience());
                }
                context.bootstrap().barrier("repeated", ranks.patience());
                if (context.rank() == 1) {
                    checkHighest(exchange);
                }
                context.bootstrap().barrier("done", ranks.patience());
            }
        });
    }

    private static void signalFromThreads(WriteExchange exchange, Duration patience) {
        ExecutorService executor = Executors.newFixedThreadPool(THREADS);
        try {
            CompletableFuture.allOf(IntStream.range(0, THREADS)
                            .mapToObj(thread -> CompletableFuture.runAsync(
                                    () -> {
                                        for (int number = thread; number < HIGHEST; number += THREADS) {
                                            exchange.writeWord(number);
                                            exchange.posted().signal(1, SHARED, number + 1L);
                                        }
                                    },
                                    executor))
                            .toArray(CompletableFuture<?>[]::new))
                    .orTimeout(patience.toMillis(), TimeUnit.MILLISECONDS)
                    .join();
        } finally {
            executor.shutdownNow();
        }
        exchange.posted().signal(1, ENDED, 1);
        exchange.posted().flush(1, System.nanoTime() + patience.toNanos());
    }

    private static void repeatSignals(WriteExchange exchange, Duration patience) {
        long before = signals(exchange);
        for (int value = 0; value <= HIGHEST; value += THREADS) {
            exchange.posted().signal(1, SHARED, value);
        }
        exchange.posted().flush(1, System.nanoTime() + patience.toNanos());
        long sent = signals(exchange) - before;
        if (sent != 0) {
            throw new AssertionError(
                    "rank 0 sent " + sent + " signals whose value is not above the last one; " + exchange.traffic());
        }
    }

    private static long signals(WriteExchange exchange) {
        return exchange.traffic().stream()
                .flatMap(peer -> peer.lanes().stream())
                .mapToLong(EpTraffic.Lane::signals)
                .sum();
    }

    private static void checkSignals(WriteExchange exchange, Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
        long last = 0;
        boolean ended = false;
        while (!ended) {
            ended = exchange.posted().counter(ENDED, 0) > 0;
            long now = exchange.posted().counter(SHARED, 0);
            if (now < last || System.nanoTime() - end > 0) {
                throw new AssertionError("the counter that several threads of rank 0 signal is " + now + " after "
                        + last + ", must increase to " + HIGHEST + "; " + exchange.traffic());
            }
            last = now;
            Thread.onSpinWait();
        }
        checkHighest(exchange);
        for (int number = 0; number < HIGHEST; number++) {
            exchange.checkWord(number);
        }
    }

    private static void checkHighest(WriteExchange exchange) {
        long value = exchange.posted().counter(SHARED, 0);
        if (value != HIGHEST) {
            throw new AssertionError("the counter that several threads of rank 0 have signalled is " + value
                    + ", must be " + HIGHEST + ", the highest value; " + exchange.traffic());
        }
    }

    /** Lets rank 0 write more than fits while rank 1 does not poll. */
    public static void stalledReceiver(TwoRanks ranks, StalledReceiver receiver) {
        ranks.run(context -> {
            try (WriteExchange exchange = ranks.exchange(context, SLOT, LARGEST)) {
                receiver.run(context, exchange, ranks.patience());
            }
        });
    }

    /**
     * Runs rounds until the peer is found lost.
     *
     * @param parts of the exception's message
     * @throws AssertionError when the peer is not found lost, or the message lacks a part
     */
    public static void expectLoss(WriteExchange exchange, String... parts) {
        try {
            exchange.rounds(exchange.sentRounds() + 1000);
        } catch (EpPeerLostException e) {
            check(e.getMessage(), parts);
            return;
        }
        throw new AssertionError("nothing was lost");
    }

    /**
     * Checks that a message contains all parts.
     *
     * @throws AssertionError naming the first missing part
     */
    public static void check(@Nullable String message, String... parts) {
        for (String part : parts) {
            if (message == null || !message.contains(part)) {
                throw new AssertionError("expected \"" + part + "\" in: " + message);
            }
        }
    }
}
