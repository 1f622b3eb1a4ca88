package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.posted.PostedBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class LinkTest {
    private static final Duration LONG = Guard.minute();

    private static LinkPair pair() {
        return new LinkPair(7, LinkPair.Shape.of(2));
    }

    private static LinkPair impatientPair() {
        return new LinkPair(7, new LinkPair.Shape(1, 64, true, Keys.WHOLE, NicProfile.ANY, Duration.ofMillis(30)));
    }

    private static void progress(LinkPair pair, int side) {
        for (int i = 0; i < 1000; i++) {
            pair.link(side).tryProgress();
        }
    }

    @Test
    void aCounterDoesNotGoBack() {
        LinkPair pair = pair();
        pair.advance(0, 3, 5);
        pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        long landed = pair.fabric().landed();
        pair.advance(0, 3, 4);
        pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        assertThat(pair.fabric().landed()).isEqualTo(landed);
        progress(pair, 1);
        assertThat(pair.seen(1, 3)).isEqualTo(5);
    }

    @Test
    void countersCarryAllBits() {
        LinkPair pair = pair();
        long[] values = {1, 0xffff_ffffL, 0x1_0000_0000L, Long.MAX_VALUE};
        for (long value : values) {
            pair.advance(0, 63, value);
            pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
            progress(pair, 1);
            assertThat(pair.seen(1, 63)).isEqualTo(value);
        }
    }

    @Test
    void theSameValueAgainSendsNothing() {
        LinkPair pair = pair();
        pair.advance(0, 1, 9);
        pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        long landed = pair.fabric().landed();
        pair.advance(0, 1, 9);
        pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        assertThat(pair.fabric().landed()).isEqualTo(landed);
    }

    @Test
    void aPeerThatTakesNothingIsToldOfInTime() {
        LinkPair pair = impatientPair();
        pair.fabric().stick();
        assertThatThrownBy(() -> {
                    for (int i = 1; i < 10_000; i++) {
                        pair.write(0, 0, 0, 64);
                        pair.advance(0, 0, i);
                    }
                })
                .isInstanceOfSatisfying(
                        EpTimeoutException.class,
                        e -> assertThat(e.failure().peer()).isEqualTo(1))
                .hasMessageContainingAll("rank 1", "accepted no data", "of 256 counter updates", "ep.timeout");
    }

    @Test
    void aFlushEndsAtItsDeadline() {
        LinkPair pair = pair();
        pair.fabric().stick();
        pair.write(0, 0, 0, 64);
        assertThatThrownBy(() -> pair.link(0).flush(Deadline.in(Duration.ofMillis(20)), Link.NO_CHECK))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContainingAll("the end of all writes", "1 writes under way");
    }

    /** A rank that the others have left out need not wait until its deadline for a peer that takes nothing. */
    @Test
    void aCheckEndsTheWaitsOfItsOwnCallsAlone() {
        LinkPair pair = pair();
        pair.fabric().stick();
        pair.write(0, 0, 0, 64);
        EpPeerLostException leftOut = new EpPeerLostException(
                "this rank is left out", EpFailure.builder("post", 0).build());
        Runnable check = () -> {
            throw leftOut;
        };
        assertThatThrownBy(() -> pair.link(0).flush(Deadline.in(LONG), check)).isSameAs(leftOut);
        assertThatThrownBy(() -> {
                    for (long value = 1; true; value++) {
                        pair.advance(0, 0, value, check);
                    }
                })
                .isSameAs(leftOut);
        assertThatThrownBy(() -> pair.link(0).flush(Deadline.in(Duration.ofMillis(20)), Link.NO_CHECK))
                .as("another call")
                .isInstanceOf(EpTimeoutException.class);
    }

    /** Otherwise one would be put where the peer has not read the one before. */
    @Test
    void anAdvanceWaitsWhileTheRecordsOfThoseBeforeItTakeAllPlaces() {
        LinkPair pair = pair();
        pair.fabric().pump(1, () -> {});
        for (int i = 1; i <= Records.COUNT; i++) {
            pair.advance(0, 0, i);
        }
        EpPeerLostException waits =
                new EpPeerLostException("it waits", EpFailure.builder("post", 1).build());
        assertThatThrownBy(() -> pair.advance(0, 0, Records.COUNT + 1, () -> {
                    throw waits;
                }))
                .isSameAs(waits);
        pair.fabric().pump(1, pair.link(1)::tryProgress);
        pair.advance(0, 0, Records.COUNT + 1);
        pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        progress(pair, 1);
        assertThat(pair.seen(1, 0)).isEqualTo(Records.COUNT + 1);
    }

    @Test
    void onAnIdleLinkAWriteAndAnAdvanceDoNotWaitForAPeerThatHasStopped() {
        LinkPair pair = impatientPair();
        Runnable takesNothing = () -> {};
        pair.fabric().pump(1, takesNothing);
        int advances = 0;
        while (becomesIdle(pair.link(0))) {
            pair.write(0, 0, 0, 64);
            pair.advance(0, 0, ++advances);
        }
        assertThat(advances).isBetween(Records.COUNT / 4, Records.COUNT - 1);
        pair.fabric().pump(1, pair.link(1)::tryProgress);
        assertThat(becomesIdle(pair.link(0))).isTrue();
        assertThat(pair.seen(1, 0)).isEqualTo(advances);
    }

    private static boolean becomesIdle(Link link) {
        for (int i = 0; i < 10_000; i++) {
            if (link.isIdle()) {
                return true;
            }
        }
        return false;
    }

    @Test
    void isNotIdleWhileAnotherThreadUsesTheLink() {
        LinkPair pair = pair();
        Link link = pair.link(0);
        link.hold(() ->
                assertThat(CompletableFuture.supplyAsync(link::isIdle).join()).isFalse());
        assertThat(link.isIdle()).isTrue();
    }

    /** Its memory is given back, so nothing may read it when the peer continues. */
    @Test
    void aBufferThatClosesEndsALinkWhosePeerTakesNothing() {
        LinkPair pair = pair();
        PostedBuffer<EfaMemory> buffer = pair.buffer(0);
        pair.fabric().stick();
        buffer.put(1, 0, 0, 64);
        buffer.close();
        assertThatThrownBy(() -> pair.write(0, 0, 0, 8))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContaining("closed efa buffer \"b\" of rank 0 with writes in flight");
    }

    /** As of another buffer that is in use. */
    @Test
    void aBufferThatClosesKeepsALinkThatAnotherThreadUses() throws Exception {
        LinkPair pair = new LinkPair(7, LinkPair.Shape.of(2));
        PostedBuffer<EfaMemory> buffer = pair.buffer(0);
        AtomicBoolean done = new AtomicBoolean();
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<Void> other = CompletableFuture.runAsync(() -> {
            while (!done.get()) {
                pair.write(0, 0, 0, 64);
                begun.countDown();
            }
        });
        assertThat(begun.await(Guard.minute().toSeconds(), TimeUnit.SECONDS)).isTrue();
        buffer.close();
        done.set(true);
        other.get();
        assertThat(pair.link(0).isLost()).isFalse();
        progress(pair, 1);
        assertThat(pair.closedByPeer(1)).isTrue();
    }

    @Test
    void aBufferThatClosesKeepsALinkOnWhichNothingIsInFlight() {
        LinkPair pair = pair();
        PostedBuffer<EfaMemory> buffer = pair.buffer(0);
        buffer.put(1, 0, 0, 64);
        buffer.close();
        pair.write(0, 0, 0, 8);
        progress(pair, 1);
        assertThat(pair.closedByPeer(1)).isTrue();
    }

    @Test
    void aFlushWaitsForOtherThreadsNoLongerThanItsDeadline() {
        LinkPair pair = pair();
        Link link = pair.link(0);
        link.hold(() -> assertThatThrownBy(() -> CompletableFuture.runAsync(
                                () -> link.flush(Deadline.in(Duration.ofMillis(5)), Link.NO_CHECK))
                        .join())
                .hasCauseInstanceOf(EpTimeoutException.class)
                .hasMessageContaining("the connection to rank 1 stayed busy until the deadline: another thread"));
        link.flush(Deadline.in(LONG), Link.NO_CHECK);
    }

    @Test
    void nothingIsWrittenForABufferThatThePeerHasClosed() {
        LinkPair pair = pair();
        PostedBuffer<EfaMemory> buffer = pair.buffer(0);
        buffer.put(1, 0, 0, 64);
        buffer.signal(1, 0, 1);
        buffer.flush(1, Deadline.in(LONG).nanoTime());
        long landed = pair.fabric().landed();
        pair.close(1);
        progress(pair, 0);
        buffer.put(1, 0, 0, 64);
        buffer.signal(1, 0, 2);
        buffer.flush(1, Deadline.in(LONG).nanoTime());
        progress(pair, 1);
        assertThat(pair.seen(1, 0)).isEqualTo(1);
        assertThat(pair.fabric().landed()).as("but the notice").isEqualTo(landed + 1);
    }

    /** As by a thread that got no processor until its deadline. */
    @Test
    void whatHasEndedIsTakenInAfterTheDeadlineToo() {
        LinkPair pair = pair();
        pair.fabric().pump(0, () -> {});
        pair.write(0, 0, 0, 64);
        progress(pair, 1);
        pair.link(0).flush(Deadline.in(Duration.ZERO), Link.NO_CHECK);
    }

    @Test
    void whatFailsLosesThePeerWithItsReason() {
        LinkPair pair = pair();
        pair.fabric().breakFor(0);
        progress(pair, 0);
        assertThat(pair.link(0).isLost()).isTrue();
        assertThatThrownBy(() -> pair.write(0, 0, 0, 8))
                .isInstanceOfSatisfying(EpPeerLostException.class, e -> {
                    assertThat(e.failure().peer()).isEqualTo(1);
                    assertThat(e.failure().nic()).contains("fake0");
                    assertThat(e.failure().nativeStatus()).hasValue(101);
                    assertThat(e.failure().nativeStatusName()).isEqualTo("fake");
                })
                .hasMessageContainingAll(
                        "rank 1",
                        "cannot be reached",
                        "fake0 to fake0",
                        "error 101 (fake)",
                        "provider error 7 (fake cable is cut)");
        assertThatThrownBy(() -> pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK))
                .isInstanceOf(EpPeerLostException.class);
        assertThat(pair.link(0).traffic().lanes()).noneMatch(lane -> lane.alive());
    }

    /** What the NIC says of it is a consequence. */
    @Test
    void aPeerThatHasLeftIsLostByNoNic() {
        LinkPair pair = pair();
        pair.fabric().breakFor(0);
        pair.link(0).peerGone("it has left the group");
        assertThatThrownBy(() -> pair.write(0, 0, 0, 8))
                .isInstanceOfSatisfying(EpPeerLostException.class, e -> {
                    assertThat(e.failure().nic()).isEmpty();
                    assertThat(e.failure().nativeStatus()).isEmpty();
                })
                .hasMessageContaining("rank 1 cannot be reached: it has left the group");
    }

    @Test
    void nothingLandsAfterALinkEndsAndThePeerLearnsOfIt() {
        LinkPair pair = pair();
        for (int i = 0; i < 20; i++) {
            pair.write(1, 0, 0, 4096);
        }
        pair.link(0).end("the backend is closed on this rank");
        long landed = pair.fabric().landed();
        progress(pair, 1);
        assertThatThrownBy(() -> pair.advance(0, 0, 1))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContainingAll("rank 1", "is closed");
        assertThatThrownBy(() -> pair.write(1, 0, 0, 8))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContaining("rank 0");
        assertThat(pair.fabric().landed()).isEqualTo(landed);
    }

    @Test
    void whatAGonePeerLeftBehindIsTakenIn() {
        LinkPair pair = pair();
        pair.write(0, 0, 0, 64);
        pair.advance(0, 2, 1);
        pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        pair.link(1).peerGone("it has left the group");
        assertThat(pair.seen(1, 2)).isEqualTo(1);
        assertThatThrownBy(() -> pair.advance(1, 0, 1))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContaining("left the group");
    }

    /** As of one that was taken for lost while its process was stopped. */
    @Test
    void aPeerThatWasGivenUpLearnsOfIt() {
        LinkPair pair = pair();
        pair.link(0).peerGone("it is lost");
        progress(pair, 1);
        assertThatThrownBy(() -> pair.write(1, 0, 0, 8))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContaining("has closed the connection");
    }

    @Test
    void theNoticeOfAClosedBufferComesAfterWhatWasWritten() {
        LinkPair pair = pair();
        pair.write(0, 0, 0, 64);
        pair.advance(0, 2, 1);
        assertThat(pair.closedByPeer(1)).isFalse();
        pair.close(0);
        pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        progress(pair, 1);
        assertThat(pair.closedByPeer(1)).isTrue();
        assertThat(pair.seen(1, 2)).isEqualTo(1);
    }

    @Test
    void whatCannotHaveBeenSentLosesThePeer() {
        for (int immediate : new int[] {
            Immediate.of(Immediate.DATA, Records.COUNT), Immediate.of(Immediate.RECORD, Records.COUNT + 5)
        }) {
            LinkPair pair = pair();
            pair.fabric().inject(1, immediate);
            progress(pair, 1);
            assertThatThrownBy(() -> pair.write(1, 0, 0, 8))
                    .isInstanceOf(EpPeerLostException.class)
                    .hasMessageContainingAll("cannot be trusted", "batch slot");
        }
        LinkPair pair = pair();
        pair.fabric().inject(1, Immediate.of(Immediate.DATA, 0));
        pair.advance(0, 0, 1);
        pair.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        progress(pair, 1);
        assertThat(pair.link(1).isLost()).isTrue();
        assertThat(pair.seen(1, 0)).isZero();
    }

    @Test
    void whatComesTwiceIsRefused() {
        LinkPair writes = pair();
        writes.write(0, 0, 0, 64);
        writes.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        writes.fabric().inject(1, Immediate.of(Immediate.DATA, 0));
        writes.advance(0, 0, 1);
        writes.link(0).flush(Deadline.in(LONG), Link.NO_CHECK);
        progress(writes, 1);
        assertThat(writes.seen(1, 0)).isZero();
        assertThatThrownBy(() -> writes.write(1, 0, 0, 8))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContainingAll("cannot be trusted", "1 writes, and 2 writes arrived");
        LinkPair records = pair();
        records.fabric().inject(1, Immediate.of(Immediate.RECORD, 9));
        records.fabric().inject(1, Immediate.of(Immediate.RECORD, 9));
        progress(records, 1);
        assertThatThrownBy(() -> records.write(1, 0, 0, 8))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContainingAll("cannot be trusted", "batch slot 9", "have no record yet");
    }

    @Test
    void trafficIsCounted() {
        LinkPair pair = pair();
        pair.write(0, 0, 0, 3L * Link.PIECE / 4);
        pair.write(0, 0, 0, 100);
        pair.advance(0, 0, 1);
        assertThat(pair.link(0).traffic().lanes().stream()
                        .mapToLong(lane -> lane.bytes())
                        .sum())
                .isEqualTo(3L * Link.PIECE / 4 + 100);
        assertThat(pair.link(0).traffic().lanes().stream()
                        .mapToLong(lane -> lane.signals())
                        .sum())
                .isEqualTo(1);
    }
}
