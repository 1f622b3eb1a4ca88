package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.EpConfigException;
import org.ep4j.tck.writes.TwoRanks;
import org.ep4j.tck.writes.WriteScenarios;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The exchanges of two ranks on a transport with the weakest order that the contract allows, and on one that breaks it. */
@Tag("verify")
final class WritesTest {
    private static final Duration PATIENCE = Guard.minute();
    private static final int SLOT = 1 << 16;

    /** Counter of rounds sent, as in {@link org.ep4j.tck.writes.WriteExchange}. */
    private static final int SENT = 5;

    private static TwoRanks ranks(int seed) {
        PostedThreadsProvider provider = new PostedThreadsProvider();
        return new TwoRanks(
                provider,
                TwoRanks.plan(PostedThreadsProvider.ID, Map.of("inside", "posted"), List.of(), List.of(), 1),
                TwoRanks.config(provider, Map.of("ep.posted-threads.seed", String.valueOf(seed))),
                PATIENCE);
    }

    @Test
    void everyByteArrivesWhateverTheOrder() {
        for (int seed = 0; seed < 3; seed++) {
            WriteScenarios.exchange(ranks(seed), SLOT, 20_000, 20);
        }
    }

    @Test
    void aCounterThatSeveralThreadsSignalOnlyRises() {
        for (int seed = 0; seed < 3; seed++) {
            WriteScenarios.concurrentSignals(ranks(seed));
        }
    }

    @Test
    void aCounterThatArrivesBeforeItsBytesIsFound() {
        TwoRanks ranks = ranks(1);
        ranks.run(context -> {
            try (var exchange = ranks.exchange(context, SLOT, 20_000)) {
                exchange.rounds(3);
                // A rank that still runs rounds would take the early counter for the next round.
                context.bootstrap().barrier("half", PATIENCE);
                if (context.rank() == 0) {
                    exchange.posted().signal(1, SENT, 4);
                    exchange.posted().flush(1, System.nanoTime() + PATIENCE.toNanos());
                } else {
                    assertThatThrownBy(() -> exchange.rounds(4))
                            .isInstanceOf(AssertionError.class)
                            .hasMessageContainingAll("rank 1, round 4: the word at byte ");
                }
                context.bootstrap().barrier("done", PATIENCE);
            }
        });
    }

    @Test
    void theFailuresOfBothRanksAreThrown() {
        assertThatThrownBy(() -> ranks(1).run(context -> {
                    throw new IllegalStateException("rank " + context.rank());
                }))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("rank 0")
                .satisfies(error -> assertThat(error.getSuppressed()[0]).hasMessage("rank 1"));
    }

    @Test
    void anUnknownSettingIsRefused() {
        assertThatThrownBy(() -> TwoRanks.config(new PostedThreadsProvider(), Map.of("ep.posted-threads.sead", "1")))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.posted-threads.sead");
    }
}
