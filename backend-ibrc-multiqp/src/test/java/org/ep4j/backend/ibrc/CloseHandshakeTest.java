package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTraffic;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.memory.WordMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What becomes of a link when a buffer closes. */
@Tag("verify")
final class CloseHandshakeTest {
    private static final int RANKS = 2;

    private final WordMemory memory = WordMemory.allocate(CloseHandshake.bytes(RANKS));

    private IbrcBuffer buffer(LinkPair pair) {
        CloseHandshake handshake = new CloseHandshake(memory.words(), RANKS);
        handshake.prepare();
        return pair.buffer(0, handshake);
    }

    private static LinkPair pair() {
        return new LinkPair(new Random(1), 2, 2, true, new LinkSettings(128, 4, Guard.minute()));
    }

    /** The memory of the buffer is given back, so nothing may read it when the connection works again. */
    @Test
    void aBufferThatClosesEndsALinkOnWhichNothingArrives() {
        try (LinkPair pair = pair()) {
            IbrcBuffer buffer = buffer(pair);
            pair.stallWhile(() -> true);
            buffer.put(1, 0, 0, 64);
            buffer.close();
            assertThatThrownBy(() -> pair.write(0, 8))
                    .isInstanceOf(EpPeerLostException.class)
                    .hasMessageContaining("closed ibrc-multiqp buffer \"b\" of rank 0 with writes in flight");
        }
    }

    /** It may close the buffer once it has heard that this rank does, and what it has registered is gone then. */
    @Test
    void aPeerThatTakesNothingForAWhileHearsOnceThatTheBufferCloses() {
        try (LinkPair pair = pair()) {
            IbrcBuffer buffer = buffer(pair);
            AtomicLong written = new AtomicLong();
            pair.stallWhile(() -> {
                if (bytes(pair) == 0) {
                    return true;
                }
                written.compareAndSet(0, System.nanoTime());
                return System.nanoTime() - written.get()
                        < CloseHandshake.TURN.multipliedBy(4).toNanos();
            });
            buffer.close();
            assertThat(written.get()).as("when the peer was informed").isNotZero();
            assertThat(bytes(pair)).isEqualTo(Long.BYTES);
        }
    }

    private static long bytes(LinkPair pair) {
        return pair.link(0).traffic().lanes().stream()
                .mapToLong(EpTraffic.Lane::bytes)
                .sum();
    }

    /** It may still advance them. */
    @Test
    void countersStayRegisteredUntilThePeerHasClosed() {
        try (LinkPair pair = pair()) {
            CloseHandshake handshake = new CloseHandshake(memory.words(), RANKS);
            handshake.prepare();
            AtomicBoolean givenBack = new AtomicBoolean();
            Resources counters = new Resources();
            counters.add(() -> givenBack.set(true));
            ClosedCounters closed = new ClosedCounters();
            pair.buffer(0, handshake, counters, closed).close();
            closed.release();
            assertThat(givenBack).as("before the peer has closed").isFalse();
            memory.words().putLongRelease((long) RANKS * LinkMemory.COUNTERS + Long.BYTES, 1);
            closed.release();
            assertThat(givenBack).as("after it has").isTrue();
        }
    }

    /** As of another buffer that is in use. */
    @Test
    void aBufferThatClosesKeepsALinkThatAnotherThreadUses() throws Exception {
        try (LinkPair pair = pair()) {
            IbrcBuffer buffer = buffer(pair);
            AtomicBoolean done = new AtomicBoolean();
            CountDownLatch begun = new CountDownLatch(1);
            CompletableFuture<Void> other = CompletableFuture.runAsync(() -> {
                while (!done.get()) {
                    pair.write(0, 64);
                    begun.countDown();
                }
            });
            assertThat(begun.await(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            buffer.put(1, 0, 0, 64);
            buffer.close();
            done.set(true);
            other.get();
            assertThat(pair.link(0).isLost()).isFalse();
        }
    }
}
