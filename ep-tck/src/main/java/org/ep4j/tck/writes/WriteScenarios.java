package org.ep4j.tck.writes;

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
