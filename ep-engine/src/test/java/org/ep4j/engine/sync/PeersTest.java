package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpPath;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.Engine;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class PeersTest {
    private static final Recoverer.Recoverability FIXED =
            new Recoverer.Recoverability(Optional.empty(), "its memory is fixed");

    /** Gives a value once; then its source is lost. Notes what is asked of it. */
    private static final class LostAfterOne implements HostPosted {
        private final long value;
        private final List<String> calls = new ArrayList<>();
        private boolean given;
        private boolean lost;
        private long flushedUntil;
        private Runnable check = () -> {};

        LostAfterOne(long value) {
            this.value = value;
        }

        @Override
        public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
            calls.add("put " + bytes);
        }

        @Override
        public void signal(int peer, int counter, long next) {
            calls.add("signal " + next);
        }

        @Override
        public long counter(int counter, int source) {
            if (given) {
                throw new EpPeerLostException(
                        "rank " + source + " cannot be reached",
                        EpFailure.builder("test", source).build());
            }
            given = true;
            return value;
        }

        @Override
        public void setWaitCheck(Runnable next) {
            check = next;
        }

        @Override
        public void flush(int peer, long deadlineNanos) {
            flushedUntil = deadlineNanos;
            check.run();
            if (lost) {
                throw new EpPeerLostException(
                        "rank " + peer + " cannot be reached",
                        EpFailure.builder("test", peer).build());
            }
        }
    }

    private final BufferLayout layout =
            new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(4).build(), 2, true, 0);
    private final LostAfterOne posted = new LostAfterOne(5);
    private final DeviceAllocation memory = new HostDevice().allocate(layout.bytes());
    private final Peers<HostMemory> peers = new Peers<>(
            RelaysTest.plan(List.of(0, 1)),
            layout,
            new SymmetricMemory(0, memory.memory(), Map.of(), Map.of(1, posted), Map.of(1, posted)),
            HostMemory::of,
            Deadline.in(Guard.minute()));

    @AfterEach
    void free() {
        memory.close();
    }

    /** Also in memory to which the buffer moves. */
    @Test
    void whatEndsPostsThatWaitIsPassedToTheBackend() {
        EpPeerLostException leftOut = new EpPeerLostException(
                "this rank is left out", EpFailure.builder("post", 0).build());
        peers.setWaitCheck(() -> {
            throw leftOut;
        });
        assertThatThrownBy(() -> peers.settle(1)).isSameAs(leftOut);
        LostAfterOne fresh = new LostAfterOne(5);
        peers.moveTo(new SymmetricMemory(0, memory.memory(), Map.of(), Map.of(1, fresh), Map.of(1, fresh)));
        assertThatThrownBy(() -> peers.settle(1)).isSameAs(leftOut);
        assertThat(posted.calls).isEmpty();
    }

    @Test
    void lastSeenValuesOfARankRemainWhenItIsLost() {
        assertThat(peers.reached(Counter.HT_DATA, 1, 4)).isTrue();
        assertThat(peers.reached(Counter.HT_DATA, 1, 5)).isTrue();
        assertThatThrownBy(() -> peers.reached(Counter.HT_DATA, 1, 6)).isInstanceOf(EpPeerLostException.class);
        assertThatThrownBy(() -> peers.reached(Counter.HT_DONE, 1, 6)).isInstanceOf(EpPeerLostException.class);
    }

    @Test
    void inFreshMemoryNoValueOfACounterIsLeft() {
        assertThat(peers.seen(Counter.HT_DATA, 1)).isEqualTo(5);
        assertThat(peers.lastSeen(Counter.HT_DATA, 1)).isEqualTo(5);
        LostAfterOne next = new LostAfterOne(0);
        try (DeviceAllocation fresh = new HostDevice().allocate(layout.bytes())) {
            peers.moveTo(new SymmetricMemory(0, fresh.memory(), Map.of(), Map.of(1, next), Map.of(1, next)));
            assertThat(peers.lastSeen(Counter.HT_DATA, 1)).isZero();
        }
    }

    /** Kernels poll the words of a window: only the threads that make the bytes visible to the GPU write them. */
    @Test
    void aCounterThatIsReadBesideAWindowIsStoredNowhere() {
        try (DeviceAllocation beside = new HostDevice().allocate(layout.bytes())) {
            SymmetricMemory.Window window = new SymmetricMemory.Window(
                    beside.memory(),
                    Map.of(EpPath.Kind.HOST_POSTED, beside.memory(), EpPath.Kind.DEVICE_POSTED, memory.memory()),
                    layout.staging(0),
                    layout.stagingBytes());
            Peers<HostMemory> windowed = new Peers<>(
                    RelaysTest.plan(List.of(0, 1)),
                    layout,
                    new SymmetricMemory(
                            0, memory.memory(), Map.of(), Map.of(1, posted), Map.of(1, posted), Optional.of(window)),
                    HostMemory::of,
                    Deadline.in(Guard.minute()));
            assertThat(windowed.seen(Counter.HT_DATA, 1)).isEqualTo(5);
            long offset = layout.counter(Counter.HT_DATA, 1);
            assertThat(HostMemory.of(beside.memory()).getLong(offset)).isZero();
            assertThat(HostMemory.of(memory.memory()).getLong(offset)).isZero();
            HostMemory.of(beside.memory()).putLong(offset, 7);
            assertThat(windowed.lastSeen(Counter.HT_DATA, 1))
                    .as("of the kind of path from the source")
                    .isEqualTo(7);
        }
    }

    @Test
    void aWaitForALostRankReportsPhaseAndCounters() {
        Waits waits = new Waits(peers, Bootstrap.inProcess(2).get(0), 1);
        assertThatThrownBy(() -> waits.await(Counter.HT_DATA, 1, 6, Deadline.in(Guard.minute()), "dispatch rows"))
                .isInstanceOfSatisfying(EpPeerLostException.class, lost -> {
                    assertThat(lost.failure().peer()).isEqualTo(1);
                    assertThat(lost.failure().phase()).isEqualTo("dispatch rows");
                })
                .hasMessageContainingAll(
                        "rank 1 cannot be reached", "dispatch rows", "counter ht_data of rank 1 is 5, expected 6");
    }

    @Test
    void whatABrokenOperationPlacedIsNotPostedByTheNextOne() {
        peers.place(1, layout.rows(), 64);
        peers.until(Deadline.in(Guard.minute()));
        peers.advance(1, Counter.HT_ENTER, 2);
        assertThat(posted.calls).containsExactly("signal 2");
    }

    @Test
    void aDrainMayTakeOnlyWhatIsLeftOfTheOperationsTime() {
        Deadline half = new Deadline(System.nanoTime() + Guard.minute().toNanos() / 2, Guard.minute());
        peers.until(half);
        peers.drain(1);
        assertThat(posted.flushedUntil).isEqualTo(half.nanoTime());
        Deadline passed = new Deadline(System.nanoTime(), Guard.minute());
        peers.until(passed);
        peers.drain(1);
        assertThat(posted.flushedUntil).as("after the deadline").isEqualTo(passed.nanoTime());
    }

    /** The other one waits for nothing: it learns of it where the ranks meet, with its mask as it was. */
    @Test
    void masksStayWhereOneRankCannotReachAnother() {
        List<Bootstrap> ranks = Bootstrap.inProcess(2);
        Waits waits = new Waits(peers, ranks.get(0), 1);
        Recoverer recoverer = new Recoverer(numbers(), peers, waits, ranks.get(0), FIXED);
        recoverer.mask(1, true, 0, Deadline.in(Guard.minute()));
        posted.lost = true;
        LostAfterOne back = new LostAfterOne(0);
        try (DeviceAllocation other = new HostDevice().allocate(layout.bytes())) {
            Peers<HostMemory> others = new Peers<>(
                    RelaysTest.plan(List.of(0, 1)),
                    layout,
                    new SymmetricMemory(1, other.memory(), Map.of(), Map.of(0, back), Map.of(0, back)),
                    HostMemory::of,
                    Deadline.in(Guard.minute()));
            Recoverer second =
                    new Recoverer(numbers(), others, new Waits(others, ranks.get(1), 1), ranks.get(1), FIXED);
            CompletableFuture<Void> waiting =
                    CompletableFuture.runAsync(() -> second.clearMasks("buffer", Guard.minute()));
            assertThatThrownBy(() -> recoverer.clearMasks("buffer", Guard.minute()))
                    .isInstanceOfSatisfying(
                            EpPeerLostException.class,
                            e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.FIX_CALL))
                    .hasMessage("rank 1 cannot be reached");
            assertThat(waiting)
                    .failsWithin(Guard.minute())
                    .withThrowableOfType(ExecutionException.class)
                    .withMessageContaining("rank 0 cannot reach it")
                    .havingCause()
                    .isInstanceOfSatisfying(
                            EpPeerLostException.class,
                            e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN));
        }
        assertThat(waits.mask().has(1)).isTrue();
    }

    @Test
    void aBufferThatCannotMoveDoesNotRecover() {
        Bootstrap bootstrap = Bootstrap.inProcess(2).get(0);
        Recoverer recoverer = new Recoverer(numbers(), peers, new Waits(peers, bootstrap, 1), bootstrap, FIXED);
        assertThatThrownBy(() -> recoverer.recover(0, Deadline.in(Guard.minute())))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessage(
                        "this buffer cannot recover: its memory is fixed; close this buffer, and join a new group without the lost"
                                + " ranks");
    }

    @Test
    void aBufferThatCannotMoveMasksNoRankThatMayStillWrite() {
        List<Bootstrap> ranks = Bootstrap.inProcess(2);
        Waits waits = new Waits(peers, ranks.get(0), 1);
        Recoverer recoverer = new Recoverer(numbers(), peers, waits, ranks.get(0), FIXED);
        assertThatThrownBy(() -> recoverer.mask(1, false, 0, Deadline.in(Guard.minute())))
                .isInstanceOfSatisfying(
                        EpStateException.class, e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN))
                .hasMessageContainingAll("rank 1", "its memory is fixed", "end the process of rank 1");
        assertThat(waits.mask().has(1)).isFalse();
        new Engine().declareDead(ranks.get(1), "killed");
        recoverer.mask(1, false, 0, Deadline.in(Guard.minute()));
        assertThat(waits.mask().has(1)).isTrue();
    }

    private static Recoverer.Numbers numbers() {
        return new Recoverer.Numbers() {
            @Override
            public long[] begun() {
                return new long[3];
            }

            @Override
            public void restart(long highThroughput, long dispatch, long combine) {}
        };
    }
}
