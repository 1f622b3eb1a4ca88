package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Recovery of rank 0 of two, with what rank 1 publishes written by the test. */
@Tag("verify")
final class RecovererTest {
    private final BufferLayout layout =
            new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(4).build(), 2, true, 0);
    private final HostDevice device = new HostDevice();
    private final DeviceAllocation zero = device.allocate(layout.bytes());
    private final DeviceAllocation one = device.allocate(layout.bytes());
    private final List<Bootstrap> bootstraps = Bootstraps.inProcess(2);
    private final Peers<HostMemory> mine = peers(0, zero, one);
    private final Peers<HostMemory> theirs = peers(1, one, zero);

    private Peers<HostMemory> peers(int rank, DeviceAllocation own, DeviceAllocation other) {
        return new Peers<>(
                RailsTest.plan(List.of(0, 1)),
                layout,
                new SymmetricMemory(rank, own.memory(), Map.of(1 - rank, other.memory()), Map.of(), Map.of()),
                HostMemory::of,
                Deadline.in(Guard.minute()));
    }

    @AfterEach
    void free() {
        zero.close();
        one.close();
        bootstraps.forEach(Bootstrap::close);
    }

    private Recovery recover(long firstWord) {
        Recoverer.Numbers numbers = new Recoverer.Numbers() {
            private int round;

            /** Called in each round, before rank 0 publishes. */
            @Override
            public long[] begun() {
                round++;
                publish(round, round == 1 ? firstWord : round);
                return new long[] {4, 0, 0};
            }

            @Override
            public void restart(long highThroughput, long dispatch, long combine) {
                assertThat(highThroughput).isEqualTo(5);
            }
        };
        return new Recoverer(numbers, mine, new Waits(mine, bootstraps.get(0), 2), bootstraps.get(0))
                .recover(4, Deadline.in(Guard.minute()));
    }

    /** Rank 1 confirms in the second round. */
    private void publish(int round, long word) {
        long[] words = {word, 5, 0, 0, 3, round - 1, 0, 0};
        theirs.writeBlock(0, Block.RECOVER, round, words, new int[2]);
        theirs.advance(0, Counter.RECOVER, round);
    }

    @Test
    void adoptsWhatBothRanksPublish() {
        assertThat(recover(1)).isEqualTo(new Recovery(Set.of(), Map.of(0, 4L, 1, 3L)));
    }

    /** A counter that has overtaken the data that it stands for. */
    @Test
    void refusesWhatIsOfAnotherRound() {
        assertThatThrownBy(() -> recover(0))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("is of round 0, but its counter says round 1");
    }

    /** Knows that rank 1 is lost, as a rank that is silent is, and whether its process has ended. */
    private final class Suspicion implements Bootstrap {
        private final Bootstrap bootstrap = bootstraps.get(0);
        private final AtomicInteger asked = new AtomicInteger();
        private volatile boolean proved;

        @Override
        public int rank() {
            return bootstrap.rank();
        }

        @Override
        public int size() {
            return bootstrap.size();
        }

        @Override
        public List<byte[]> allGather(String tag, byte[] own, Duration deadline) {
            return bootstrap.allGather(tag, own, deadline);
        }

        @Override
        public MemberState state(int rank) {
            return rank == 1 ? MemberState.LOST : MemberState.ALIVE;
        }

        @Override
        public boolean isProvedDead(int rank) {
            asked.incrementAndGet();
            return rank == 1 && proved;
        }

        @Override
        public long stateChanges() {
            return 1;
        }

        @Override
        public Bootstrap subgroup(String name, List<Integer> ranks) {
            return bootstrap.subgroup(name, ranks);
        }

        @Override
        public void close() {
            bootstrap.close();
        }
    }

    private Recoverer recoverer(Waits waits, Bootstrap bootstrap) {
        return new Recoverer(
                new Recoverer.Numbers() {
                    @Override
                    public long[] begun() {
                        return new long[] {4, 0, 0};
                    }

                    @Override
                    public void restart(long highThroughput, long dispatch, long combine) {}
                },
                mine,
                waits,
                bootstrap);
    }

    @Test
    void waitsForTheEndOfALostRankThatMapsTheMemory() {
        Suspicion bootstrap = new Suspicion();
        Recoverer recoverer = recoverer(new Waits(mine, bootstrap, 2), bootstrap);
        CompletableFuture<Recovery> recovery =
                CompletableFuture.supplyAsync(() -> recoverer.recover(4, Deadline.in(Guard.minute())));
        Guard.until("it waits", () -> bootstrap.asked.get() > 3);
        assertThat(recovery).isNotDone();
        bootstrap.proved = true;
        assertThat(recovery.join().masked()).containsExactly(1);
    }

    @Test
    void refusesToUseMemoryAgainThatALostRankMayWrite() {
        Suspicion bootstrap = new Suspicion();
        Waits waits = new Waits(mine, bootstrap, 2);
        assertThatThrownBy(() -> recoverer(waits, bootstrap).recover(4, Deadline.in(Duration.ofMillis(20))))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContaining("end its process");
        assertThat(waits.mask().has(1)).isFalse();
    }

    @Test
    void refusesToMaskARankThatMayWriteInAnOperation() {
        Suspicion bootstrap = new Suspicion();
        Waits waits = new Waits(mine, bootstrap, 2);
        Recoverer recoverer = recoverer(waits, bootstrap);
        assertThatThrownBy(() -> recoverer.mask(1, false))
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("call recover first");
        assertThat(waits.mask().has(1)).isFalse();
        bootstrap.proved = true;
        recoverer.mask(1, false);
        assertThat(waits.mask().has(1)).isTrue();
    }
}
