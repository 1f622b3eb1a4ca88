package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.EpTimeoutException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.HostPosted;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PeersTest {
    /** Gives a value once; then its source is lost. Notes what is asked of it. */
    private static final class LostAfterOne implements HostPosted {
        private final long value;
        private final List<String> calls = new ArrayList<>();
        private boolean given;
        private boolean lost;
        private boolean failing;

        LostAfterOne(long value) {
            this.value = value;
        }

        @Override
        public void write(int peer, long target, long source, long bytes) {
            if (failing) {
                throw new EpTimeoutException("rank " + peer + " took nothing for too long", "write", peer, 1, 0);
            }
            calls.add("write " + bytes);
        }

        @Override
        public void advance(int peer, int counter, long next) {
            calls.add("advance " + next);
        }

        @Override
        public long seen(int counter, int source) {
            if (given) {
                throw new EpPeerLostException("rank " + source + " cannot be reached", source, "test");
            }
            given = true;
            return value;
        }

        @Override
        public void drain(int peer, Duration deadline) {
            if (lost) {
                throw new EpPeerLostException("rank " + peer + " cannot be reached", peer, "test");
            }
        }

        @Override
        public void disconnect(int peer) {
            calls.add("disconnect " + peer);
        }
    }

    private final BufferLayout layout =
            new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(4).build(), 2, true, 0);
    private final LostAfterOne posted = new LostAfterOne(5);
    private final DeviceAllocation memory = new HostDevice().allocate(layout.bytes());
    private final Peers<HostMemory> peers = new Peers<>(
            RailsTest.plan(List.of(0, 1)),
            layout,
            new SymmetricMemory(0, 2, memory.memory(), Map.of(), Map.of(1, posted), Map.of(1, posted)),
            HostMemory::of,
            Deadline.in(Duration.ofSeconds(10)));

    @AfterEach
    void free() {
        memory.close();
    }

    @Test
    void whatARankHasToldStaysToldWhenItIsLost() {
        assertThat(peers.reached(Counter.HT_DATA, 1, 4)).isTrue();
        assertThat(peers.reached(Counter.HT_DATA, 1, 5)).isTrue();
        assertThatThrownBy(() -> peers.reached(Counter.HT_DATA, 1, 6)).isInstanceOf(EpPeerLostException.class);
        assertThatThrownBy(() -> peers.reached(Counter.RECOVER, 1, 1)).isInstanceOf(EpPeerLostException.class);
    }

    @Test
    void whoWaitsForALostRankIsToldPhaseAndCounters() {
        Waits waits = new Waits(peers, Bootstraps.inProcess(2).get(0), DeathProof.NONE, 1);
        assertThatThrownBy(
                        () -> waits.await(Counter.HT_DATA, 1, 6, Deadline.in(Duration.ofSeconds(10)), "dispatch rows"))
                .isInstanceOfSatisfying(EpPeerLostException.class, lost -> {
                    assertThat(lost.peer()).isEqualTo(1);
                    assertThat(lost.phase()).isEqualTo("dispatch rows");
                })
                .hasMessageContainingAll(
                        "rank 1 cannot be reached", "dispatch rows", "counter ht_data of rank 1 is 5, expected 6");
    }

    /** Ranks that map the memory set the word there, those that post that of the window. */
    @Test
    void aRankIsOutWhereverItsMembershipWordIsSet() {
        try (DeviceAllocation window = new HostDevice().allocate(layout.bytes())) {
            var beside = new SymmetricMemory.Window(
                    window.memory(), window.memory(), layout.staging(0), layout.stagingBytes());
            Peers<HostMemory> both = new Peers<>(
                    RailsTest.plan(List.of(0, 1)),
                    layout,
                    new SymmetricMemory(
                            0,
                            2,
                            memory.memory(),
                            Map.of(),
                            Map.of(1, posted),
                            Map.of(1, posted),
                            Map.of(1, beside),
                            Map.of(1, beside)),
                    HostMemory::of,
                    Deadline.in(Duration.ofSeconds(10)));
            assertThat(both.isExpelled()).isFalse();
            HostMemory.of(window.memory()).putLongRelease(layout.membership(), 1);
            assertThat(both.isExpelled()).as("by a rank that posts").isTrue();
            HostMemory.of(window.memory()).putLongRelease(layout.membership(), 0);
            HostMemory.of(memory.memory()).putLongRelease(layout.membership(), 1);
            assertThat(both.isExpelled()).as("by a rank that maps").isTrue();
        }
    }

    @Test
    void whatABrokenOperationPlacedIsNotPostedByTheNextOne() {
        peers.place(1, layout.rows(), 64);
        peers.until(Deadline.in(Duration.ofSeconds(10)));
        peers.advance(1, Counter.HT_ENTER, 2);
        assertThat(posted.calls).containsExactly("advance 2");
    }

    /** One that is done with all that was begun with it may be taken back, and one that is not may not write any more. */
    @Test
    void aRankIsCutOffWhenItIsMaskedWhereItMayStillPost() {
        long[] begun = {5, 3, 3};
        Waits waits = new Waits(peers, Bootstraps.inProcess(2).get(0), DeathProof.NONE, 1);
        Recoverer recoverer = new Recoverer(
                numbers(begun), peers, waits, Bootstraps.inProcess(2).get(0), DeathProof.NONE, NoFreshMemory.INSTANCE);
        recoverer.mask(1);
        assertThat(posted.calls).containsExactly("write 8", "disconnect 1");
        assertThat(waits.mask().has(1)).isTrue();
        recoverer.mask(1);
        assertThat(posted.calls).hasSize(2);
    }

    @Test
    void aRankThatIsDoneIsNotCutOff() {
        Waits waits = new Waits(peers, Bootstraps.inProcess(2).get(0), DeathProof.NONE, 1);
        Recoverer recoverer = new Recoverer(
                numbers(new long[] {5, 0, 0}),
                peers,
                waits,
                Bootstraps.inProcess(2).get(0),
                DeathProof.NONE,
                NoFreshMemory.INSTANCE);
        recoverer.mask(1);
        assertThat(posted.calls).isEmpty();
    }

    /** The other one waits for nothing: it learns of it where the ranks meet, with its mask as it was. */
    @Test
    void masksStayWhereOneRankCannotReachAnother() {
        List<Bootstrap> ranks = Bootstraps.inProcess(2);
        Waits waits = new Waits(peers, ranks.get(0), DeathProof.NONE, 1);
        Recoverer recoverer = new Recoverer(
                numbers(new long[3]), peers, waits, ranks.get(0), DeathProof.NONE, NoFreshMemory.INSTANCE);
        recoverer.mask(1);
        posted.lost = true;
        LostAfterOne back = new LostAfterOne(0);
        try (DeviceAllocation other = new HostDevice().allocate(layout.bytes())) {
            Peers<HostMemory> others = new Peers<>(
                    RailsTest.plan(List.of(0, 1)),
                    layout,
                    new SymmetricMemory(1, 2, other.memory(), Map.of(), Map.of(0, back), Map.of(0, back)),
                    HostMemory::of,
                    Deadline.in(Duration.ofMinutes(1)));
            Recoverer second = new Recoverer(
                    numbers(new long[3]),
                    others,
                    new Waits(others, ranks.get(1), DeathProof.NONE, 1),
                    ranks.get(1),
                    DeathProof.NONE,
                    NoFreshMemory.INSTANCE);
            CompletableFuture<Void> told =
                    CompletableFuture.runAsync(() -> second.clearMask("buffer", Duration.ofMinutes(1)));
            assertThatThrownBy(() -> recoverer.clearMask("buffer", Duration.ofMinutes(1)))
                    .isInstanceOf(EpPeerLostException.class);
            assertThat(told)
                    .failsWithin(Duration.ofSeconds(30))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(EpPeerLostException.class)
                    .withMessageContaining("rank 0 cannot reach it");
        }
        assertThat(waits.mask().has(1)).isTrue();
    }

    @Test
    void nothingIsPostedAfterAFailedWriteUntilRecoverySettlesIt() {
        long staging = layout.stagingBytes();
        peers.place(1, 0, 64);
        posted.failing = true;
        assertThatExceptionOfType(EpTimeoutException.class).isThrownBy(() -> peers.advance(1, Counter.HT_DATA, 7));
        posted.failing = false;
        // An operation drains to use its staging buffer again, which is not a recovery.
        peers.drain(1);
        assertThatExceptionOfType(EpTimeoutException.class)
                .isThrownBy(() -> peers.place(1, 0, staging))
                .withMessageContaining("since a write to it failed");
        assertThatExceptionOfType(EpTimeoutException.class).isThrownBy(() -> peers.advance(1, Counter.HT_DATA, 8));
        assertThat(posted.calls).isEmpty();
        peers.settle(1);
        peers.advance(1, Counter.HT_DATA, 9);
        assertThat(posted.calls).containsExactly("advance 9");
    }

    private static Recoverer.Numbers numbers(long[] begun) {
        return new Recoverer.Numbers() {
            @Override
            public long[] begun() {
                return begun.clone();
            }

            @Override
            public void restart(long highThroughput, long dispatch, long combine) {}

            @Override
            public void moved() {
                // There are no results here.
            }
        };
    }
}
