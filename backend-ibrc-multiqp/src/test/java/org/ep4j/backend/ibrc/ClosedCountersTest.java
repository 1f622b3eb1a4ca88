package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.EpTraffic;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.memory.WordMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Counters stay registered as long as a peer may write to them. */
@Tag("verify")
final class ClosedCountersTest {
    private static final int RANKS = 2;

    /** The word that the peer, of index 1, writes when it has closed the buffer. */
    private static final long CLOSED = (long) RANKS * LinkMemory.COUNTERS + 8;

    private final AtomicInteger freed = new AtomicInteger();
    private final ClosedCounters closed = new ClosedCounters();

    private HostMemory keep(Link link) {
        WordMemory words = WordMemory.allocate(CloseHandshake.bytes(RANKS));
        Resources counters = new Resources();
        counters.hold(words);
        counters.add(freed::incrementAndGet);
        closed.keep(new CloseHandshake(words.words(), RANKS), List.of(link), counters);
        return words.words();
    }

    private static LinkPair pair() {
        return new LinkPair(new Random(1), 1, 1, false, new LinkSettings(128, 4, Guard.minute()));
    }

    @Test
    void areGivenBackOnceThePeerHasClosedTheBuffer() {
        try (LinkPair pair = pair()) {
            HostMemory words = keep(pair.link(0));
            closed.release();
            assertThat(freed).hasValue(0);
            words.putLongRelease(CLOSED, 1);
            closed.release();
            assertThat(freed).hasValue(1);
            closed.release();
            closed.close();
            assertThat(freed).hasValue(1);
        }
    }

    @Test
    void areGivenBackOnceThePeerIsLost() {
        try (LinkPair pair = pair()) {
            keep(pair.link(0));
            pair.link(0).end("lost in a test");
            closed.release();
            assertThat(freed).hasValue(1);
        }
    }

    private static long written(LinkPair pair) {
        return pair.link(0).traffic().lanes().stream()
                .mapToLong(EpTraffic.Lane::bytes)
                .sum();
    }

    /** Another thread may wait for the peer of a link as long as an operation may take. */
    @Test
    void areKeptWhileAnotherThreadUsesTheLink() {
        try (LinkPair pair = pair()) {
            HostMemory words = keep(pair.link(0));
            words.putLongRelease(CLOSED, 1);
            pair.link(0).hold(() -> CompletableFuture.runAsync(closed::release).join());
            assertThat(freed).hasValue(0);
            closed.release();
            assertThat(freed).hasValue(1);
        }
    }

    @Test
    void nothingIsWrittenForABufferThatThePeerHasClosed() {
        try (LinkPair pair = pair()) {
            WordMemory memory = WordMemory.allocate(CloseHandshake.bytes(RANKS));
            IbrcBuffer buffer = pair.buffer(0, new CloseHandshake(memory.words(), RANKS));
            buffer.put(1, 0, 0, 64);
            buffer.signal(1, 0, 1);
            assertThat(pair.awaitSeen(1, 0, 1)).isEqualTo(1);
            long written = written(pair);
            memory.words().putLongRelease(CLOSED, 1);
            buffer.put(1, 0, 0, 64);
            buffer.signal(1, 0, 2);
            buffer.flush(1, Deadline.in(Guard.minute()).nanoTime());
            assertThat(written(pair)).isEqualTo(written);
            assertThat(pair.awaitSeen(1, 0, 1)).isEqualTo(1);
        }
    }

    @Test
    void areGivenBackWithTheBackend() {
        try (LinkPair pair = pair()) {
            keep(pair.link(0));
            closed.close();
            assertThat(freed).hasValue(1);
        }
    }
}
