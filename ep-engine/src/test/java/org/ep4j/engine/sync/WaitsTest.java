package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.Engine;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.membership.RecoveryWatch;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Why a wait ended that was for no counter: the reasons that come before its own, in their order. */
@Tag("verify")
final class WaitsTest {
    private static final String PHASE = "dispatch rows";
    private final EpException own = new EpTimeoutException(
            "the wait's own reason",
            EpFailure.builder(PHASE, 1).expected(5).seen(3).build());

    /**
     * Reports the loss of its sources, once {@code lost} is set. The loss can be known before a counter's last value is seen: then
     * the first other counter that is read shows it, and that value is there afterwards.
     */
    private static final class Backend implements HostPosted {
        private boolean lost;
        private int late = -1;
        /** Another counter that the sources advance together with the late one. */
        private int other = -1;

        private long last;
        /** The sources finish what is waited for and call recover, between two polls. */
        private boolean recovers;

        private boolean finished;

        @Override
        public void put(int peer, long targetOffset, long sourceOffset, long bytes) {}

        @Override
        public void signal(int peer, int counter, long value) {}

        @Override
        public long counter(int counter, int source) {
            if (recovers) {
                return finished && (counter == late || counter == other) ? last : 0;
            }
            if (counter == late) {
                return lost ? last : 0;
            }
            lost |= late >= 0;
            if (lost) {
                throw new EpPeerLostException(
                        "rank " + source + " cannot be reached by nic0:1",
                        EpFailure.builder("post", source)
                                .nic("nic0:1")
                                .nativeStatus(12, "transport retry counter exceeded")
                                .build());
            }
            return 0;
        }

        @Override
        public void flush(int peer, long deadlineNanos) {}
    }

    /** By rank: which ranks it wants to leave out. */
    private Map<Integer, List<Integer>> recoveries = Map.of();

    private final class Watch implements RecoveryWatch {
        @Override
        public void requireReady() {}

        @Override
        public void requireMember(String phase) {}

        @Override
        public boolean isLeftOut() {
            return false;
        }

        @Override
        public Map<Integer, List<Integer>> recoveries() {
            backend.finished = true;
            return backend.recovers ? Map.of(1, List.of()) : recoveries;
        }
    }

    private final BufferLayout layout =
            new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(4).build(), 3, true, 0);
    private final Backend backend = new Backend();
    private final DeviceAllocation memory = new HostDevice().allocate(layout.bytes());
    private final List<Bootstrap> bootstraps = Bootstrap.inProcess(3);
    private final Peers<HostMemory> peers = new Peers<>(
            RelaysTest.plan(List.of(0, 1, 2)),
            layout,
            new SymmetricMemory(
                    0, memory.memory(), Map.of(), Map.of(1, backend, 2, backend), Map.of(1, backend, 2, backend)),
            HostMemory::of,
            Deadline.in(Guard.minute()));
    private final Waits waits = new Waits(peers, bootstraps.get(0), 3);

    @BeforeEach
    void watch() {
        waits.watch(new Watch());
    }

    @AfterEach
    void free() {
        bootstraps.forEach(Bootstrap::close);
        memory.close();
    }

    private EpException ended() {
        return waits.endedOr(1, PHASE, () -> own);
    }

    private void kill(int rank) {
        new Engine().declareDead(bootstraps.get(rank), "killed");
    }

    private static void lost(EpException reason, int peer, String says) {
        assertThat(reason).isInstanceOfSatisfying(EpPeerLostException.class, e -> {
            assertThat(e.failure().peer()).isEqualTo(peer);
            assertThat(e.failure().phase()).isEqualTo(PHASE);
            assertThat(e).hasMessageContaining(says).hasMessageContaining("call recover to go on without rank ");
        });
    }

    @Test
    void aWaitThatNobodyEndedHasItsOwnReason() {
        assertThat(ended()).isSameAs(own);
    }

    @Test
    void aLostRankIsTheReasonWhicheverTheWaitConcerned() {
        kill(2);
        waits.close();
        backend.lost = true;
        lost(ended(), 2, "is lost during dispatch rows");
    }

    @Test
    void aLostRankThatIsMaskedIsNone() {
        kill(2);
        waits.mask(Mask.NONE.with(2));
        assertThat(ended()).isSameAs(own);
    }

    @Test
    void aClosedBufferIsTheReason() {
        waits.close();
        backend.lost = true;
        assertThat(ended())
                .isInstanceOf(EpStateException.class)
                .hasMessage("the buffer was closed during dispatch rows");
    }

    private long awaited(long expected) {
        waits.begin(Counter.LL_DISPATCH, 5);
        backend.late = BufferLayout.number(Counter.LL_DISPATCH);
        backend.last = 5;
        return waits.await(Counter.LL_DISPATCH, 1, expected, Deadline.in(Guard.minute()), PHASE);
    }

    @Test
    void aCounterThatCameBeforeItsSourceWasLostIsEnough() {
        assertThat(awaited(5)).isPositive();
    }

    @Test
    void aCounterThatCameBeforeItsSourceCalledRecoverIsEnough() {
        backend.recovers = true;
        assertThat(awaited(5)).isNotNegative();
    }

    @Test
    void aCounterThatDidNotComeBeforeItsSourceCalledRecoverIsNot() {
        backend.recovers = true;
        assertThatThrownBy(() -> awaited(6))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContainingAll("has begun a recovery", "expected 6");
    }

    /** The other operation and the recovery arrive between two polls: the first is the cause. */
    @Test
    void anOtherOperationThatCameBeforeItsSourceCalledRecoverIsTheReason() {
        backend.recovers = true;
        backend.other = BufferLayout.number(Counter.LL_COMBINE);
        assertThatThrownBy(() -> awaited(6))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("has begun low-latency combine number 5 while this rank is in " + PHASE);
    }

    @Test
    void aCounterThatDidNotComeBeforeItsSourceWasLostIsNot() {
        assertThatThrownBy(() -> awaited(6))
                .isInstanceOfSatisfying(
                        EpPeerLostException.class,
                        e -> lost(e, 1, "(progress counter ll_dispatch of rank 1 is 5, expected 6)"));
    }

    @Test
    void aLossThatAnotherRankHasFoundEndsAWait() {
        recoveries = Map.of(2, List.of(1));
        assertThatThrownBy(() -> waits.await(Counter.LL_DISPATCH, 1, 6, Deadline.in(Guard.minute()), PHASE))
                .isInstanceOfSatisfying(EpPeerLostException.class, e -> lost(e, 1, "is lost, as reported by rank 2"));
        assertThat(waits.isAnyLost()).isTrue();
        assertThat(waits.absent()).containsExactly(2);
    }

    @Test
    void aMaskedRankThatRecoversEndsNoWait() {
        waits.mask(Mask.NONE.with(2));
        recoveries = Map.of(2, List.of(1));
        assertThat(waits.isAnyLost()).isFalse();
        assertThat(waits.absent()).isEmpty();
        assertThat(ended()).isSameAs(own);
    }

    @Test
    void aWaitForNoCounterEndsWithWhatRecoveriesSay() {
        recoveries = Map.of(1, List.of());
        assertThat(ended())
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContaining(
                        "has begun a recovery, so dispatch rows cannot end; call recover on this rank, too");
        recoveries = Map.of(2, List.of(1));
        lost(ended(), 1, "is lost, as reported by rank 2, during dispatch rows");
    }

    @Test
    void aRankThatSuspectsThisOneOrAMaskedOneEndsNoWait() {
        waits.mask(Mask.NONE.with(1));
        recoveries = Map.of(2, List.of(0, 1));
        assertThat(waits.isAnyLost()).isFalse();
    }

    /** The backend may know of the loss before the group does. */
    @Test
    void aFailedWaitOfADeviceForAPeerThatItsBackendHasLostNamesIt() {
        backend.lost = true;
        EpException reason = waits.failure(Counter.HT_ENTER, 1, 6, Guard.minute(), PHASE);
        lost(
                reason,
                1,
                "rank 1 cannot be reached by nic0:1; during dispatch rows (progress counter ht_enter of rank 1 is 0, expected 6)");
        assertThat(reason)
                .isInstanceOfSatisfying(
                        EpPeerLostException.class,
                        e -> assertThat(e.failure())
                                .isEqualTo(known().nic("nic0:1")
                                        .nativeStatus(12, "transport retry counter exceeded")
                                        .expected(6)
                                        .build()));
    }

    /** What the plan has of rank 1. */
    private static EpFailure.Builder known() {
        return EpFailure.builder(PHASE, 1)
                .host("host")
                .path(RelaysTest.plan(List.of(0, 1, 2)).path(0, 1));
    }

    @Test
    void aTimeoutHasPeerHostPathPhaseAndBothCounters() {
        assertThat(waits.failure(Counter.HT_ENTER, 1, 6, Guard.minute(), PHASE))
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                    assertThat(e.failure())
                            .isEqualTo(known().expected(6).seen(0).build());
                    assertThat(e.recourse()).isEqualTo(EpException.Recourse.RECOVER);
                });
    }

    /** A proxy thread has given the peer up, and what the kernel waited for came meanwhile. */
    @Test
    void aFailedWaitOfADeviceNamesALostPeerAlsoIfItsCounterCame() {
        backend.late = BufferLayout.number(Counter.HT_DATA);
        backend.last = 6;
        backend.lost = true;
        lost(waits.ended(Counter.HT_DATA, 1, 6, Guard.minute(), PHASE), 1, "rank 1 cannot be reached by nic0:1");
    }

    @Test
    void aPeerThatItsBackendHasLostIsTheReason() {
        backend.lost = true;
        lost(ended(), 1, "rank 1 cannot be reached by nic0:1; during dispatch rows");
    }
}
