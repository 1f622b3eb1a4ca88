package org.ep4j.tck.writes;

import java.time.Duration;
import org.ep4j.EpPeerLostException;
import org.jspecify.annotations.Nullable;

/** What two ranks of any backend that posts from host threads can be put through. */
public final class WriteScenarios {
    private static final int SLOT = 1 << 16;
    private static final int LARGEST = 20_000;

    private WriteScenarios() {}

    /**
     * Rounds of writes, every byte of which is compared.
     *
     * @param slotBytes bytes of a round at most, a multiple of 4096
     * @param largest bytes of a write at most
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
     * Rank 0 cuts its peer off: it says so at once, and the peer finds it lost.
     *
     * @param here words that the message on rank 0 holds besides
     * @param there words that the message on rank 1 holds besides
     */
    public static void cutOff(TwoRanks ranks, String here, String there) {
        Duration patience = ranks.patience();
        ranks.run(context -> {
            try (WriteExchange exchange = ranks.exchange(context, SLOT, LARGEST)) {
                exchange.rounds(5);
                context.bootstrap().barrier("half", patience);
                if (context.rank() == 0) {
                    exchange.posted().disconnect(1);
                }
                // What the peer wrote before has arrived: it would wait for an answer without a word to learn by.
                context.bootstrap().barrier("cut", patience);
                expectLoss(exchange, "rank " + (1 - context.rank()), context.rank() == 0 ? here : there);
                context.bootstrap().barrier("done", patience);
            }
        });
    }

    /** Rank 0 writes more than fits while rank 1 looks at nothing. */
    public static void heldReceiver(TwoRanks ranks, HeldReceiver held) {
        ranks.run(context -> {
            try (WriteExchange exchange = ranks.exchange(context, SLOT, LARGEST)) {
                held.run(context, exchange, ranks.patience());
            }
        });
    }

    /**
     * Goes on until the peer is found lost.
     *
     * @param parts what the message holds
     * @throws AssertionError when it is not, or the message lacks something
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
     * Looks for parts of a message.
     *
     * @throws AssertionError naming the first that is missing
     */
    public static void check(@Nullable String message, String... parts) {
        for (String part : parts) {
            if (message == null || !message.contains(part)) {
                throw new AssertionError("expected \"" + part + "\" in: " + message);
            }
        }
    }
}
