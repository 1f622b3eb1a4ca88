package com.example.tcp;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.tck.writes.TwoRanks;
import org.ep4j.tck.writes.WriteScenarios;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two ranks that write to each other, without the engine. */
@Tag("verify")
final class TcpWritesTest {
    @Test
    void everyByteArrivesBeforeTheCounterWhichOnlyRises() {
        TcpProvider provider = new TcpProvider();
        TwoRanks ranks = new TwoRanks(
                provider,
                TwoRanks.plan(TcpProvider.ID, Map.of(), List.of(), List.of(), 1),
                TwoRanks.config(provider, Map.of()),
                Duration.ofMinutes(1));
        // Writes of up to 300,000 bytes go in several messages.
        WriteScenarios.exchange(ranks, 1 << 20, 300_000, 20);
        WriteScenarios.concurrentSignals(ranks);
    }
}
