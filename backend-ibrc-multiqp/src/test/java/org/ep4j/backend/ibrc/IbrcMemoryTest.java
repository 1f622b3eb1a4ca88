package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTraffic;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.posted.PostedBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Words by which ranks close a buffer, and what becomes of a link when a buffer closes. */
@Tag("verify")
final class IbrcMemoryTest {
    private static LinkPair pair() {
        return new LinkPair(new Random(1), 2, 2, true, new LinkSettings(128, 4, Guard.minute()));
    }

    /** The memory of the buffer is given back, so nothing may read it when the connection works again. */
    @Test
    void aBufferThatClosesEndsALinkOnWhichNothingArrives() {
        try (LinkPair pair = pair()) {
            PostedBuffer<IbrcMemory> buffer = pair.buffer(0);
            pair.stallWhile(() -> true);
            buffer.put(1, 0, 0, 64);
            buffer.close();
            assertThatThrownBy(() -> pair.write(0, 8))
                    .isInstanceOf(EpPeerLostException.class)
                    .hasMessageContaining("closed ibrc-multiqp buffer \"b\" of rank 0 with writes in flight");
        }
    }

    private static long bytes(LinkPair pair) {
        return pair.link(0).traffic().lanes().stream()
                .mapToLong(EpTraffic.Lane::bytes)
                .sum();
    }

    @Test
    void aPeerThatClosesTheBufferIsWrittenToNoMore() {
        try (LinkPair pair = pair()) {
            PostedBuffer<IbrcMemory> buffer = pair.buffer(0);
            buffer.put(1, 0, 0, 64);
            buffer.signal(1, 0, 1);
            assertThat(pair.awaitSeen(1, 0, 1)).isEqualTo(1);
            assertThat(pair.memory(0).isClosedBy(1)).isFalse();
            pair.buffer(1).close();
            assertThat(pair.memory(0).isClosedBy(1)).isTrue();
            assertThat(pair.memory(0).isClosedBy(0))
                    .as("the word of this rank itself")
                    .isFalse();
            long written = bytes(pair);
            buffer.put(1, 0, 0, 64);
            buffer.signal(1, 0, 2);
            buffer.flush(1, Deadline.in(Guard.minute()).nanoTime());
            assertThat(bytes(pair)).isEqualTo(written);
            assertThat(pair.memory(1).showNew(0, 0)).isFalse();
        }
    }

    /** Where this rank counts immediates, it has to poll for them; where NICs add to words, it need not. */
    @Test
    void countersOfANicAreReadWithoutPolling() {
        for (boolean atomics : new boolean[] {true, false}) {
            try (LinkPair pair = new LinkPair(new Random(1), 1, 1, atomics, new LinkSettings(128, 4, Guard.minute()))) {
                assertThat(pair.memory(0).countsByPolling()).isEqualTo(!atomics);
            }
        }
    }
}
