package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.Engine;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.Futex;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A wait for a mapped rank whose thread sleeps. */
@Tag("verify")
final class SleepingWaitsTest {
    private static final String PHASE = "dispatch rows";
    private static final Counter COUNTER = Counter.LL_DISPATCH;

    private final BufferLayout layout =
            new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(4).build(), 2, false, 0);
    private final DeviceAllocation memory = new HostDevice().allocate(layout.bytes());
    private final List<Bootstrap> bootstraps = Bootstrap.inProcess(2);
    /** Sleeps end by the counter alone, or are short. */
    private final Optional<Futex> untilWoken = Futex.ofThisMachine(Guard.minutes(10));

    private final Optional<Futex> futex = Futex.ofThisMachine(Waits.LONGEST_SLEEP);
    private final HostMemory words = HostMemory.of(memory.memory(), futex);
    private final Waits waits = new Waits(peers(0, futex), bootstraps.get(0), 2);
    private Optional<Thread> thread = Optional.empty();

    @BeforeEach
    void requireFutex() {
        assumeTrue(futex.isPresent(), "threads cannot sleep until memory changes here");
    }

    @AfterEach
    void free() throws InterruptedException {
        if (thread.isPresent()) {
            thread.get().interrupt();
            thread.get().join(Guard.minute().toMillis());
        }
        bootstraps.forEach(Bootstrap::close);
        // Otherwise it is left to a thread that still sleeps there.
        if (thread.isEmpty() || !thread.get().isAlive()) {
            memory.close();
        }
    }

    /** A rank's access to memory of both ranks, which is the same. */
    private Peers<HostMemory> peers(int rank, Optional<Futex> sleep) {
        return new Peers<>(
                RelaysTest.plan(List.of(0, 0)),
                layout,
                new SymmetricMemory(rank, memory.memory(), Map.of(1 - rank, memory.memory()), Map.of(), Map.of()),
                m -> HostMemory.of(m, sleep),
                Deadline.in(Guard.minute()));
    }

    private FutureTask<Long> waiting(Duration deadline) {
        return waiting(waits, deadline);
    }

    private FutureTask<Long> waiting(Waits where, Duration deadline) {
        FutureTask<Long> wait = new FutureTask<>(() -> where.await(COUNTER, 1, 1, Deadline.in(deadline), PHASE));
        Thread waits = new Thread(wait, "waits");
        waits.setDaemon(true);
        waits.start();
        thread = Optional.of(waits);
        return wait;
    }

    /** Returns when the thread that waits sleeps. */
    private void awaitSleep() {
        long sleeping = layout.counter(COUNTER, 1) + Long.BYTES;
        long end = System.nanoTime() + Guard.minute().toNanos();
        while (words.getLongAcquire(sleeping) == 0) {
            assertThat(System.nanoTime() - end).as("the thread sleeps").isNegative();
            Thread.onSpinWait();
        }
    }

    private static <T> T get(FutureTask<T> work) throws Exception {
        return work.get(Guard.minute().toSeconds(), TimeUnit.SECONDS);
    }

    private static void fails(FutureTask<Long> wait, Class<? extends Exception> type, String message) {
        assertThatThrownBy(() -> get(wait))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(type)
                .hasMessageContaining(message);
    }

    @Test
    void endsWhenThePeerAdvancesTheCounter() throws Exception {
        FutureTask<Long> wait = waiting(new Waits(peers(0, untilWoken), bootstraps.get(0), 2), Guard.minutes(10));
        awaitSleep();
        peers(1, futex).advance(0, COUNTER, 1);
        assertThat(get(wait)).isPositive();
    }

    @Test
    void endsWhenTheBufferIsClosed() {
        FutureTask<Long> wait = waiting(Guard.minutes(10));
        awaitSleep();
        waits.close();
        fails(
                wait,
                EpStateException.class,
                "the buffer was closed while this rank waited for rank 1 in phase \"dispatch rows\"");
    }

    @Test
    void endsWhenTheThreadIsInterrupted() {
        FutureTask<Long> wait = waiting(Guard.minutes(10));
        awaitSleep();
        thread.orElseThrow().interrupt();
        fails(wait, EpStateException.class, "interrupted while this rank waited for rank 1 in phase \"dispatch rows\"");
    }

    @Test
    void endsAtTheDeadline() {
        fails(waiting(Duration.ofMillis(20)), EpTimeoutException.class, "dispatch rows waited 20 ms for");
    }

    @Test
    void endsWhenTheAwaitedRankIsLost() {
        FutureTask<Long> wait = waiting(Guard.minutes(10));
        awaitSleep();
        new Engine().declareDead(bootstraps.get(1), "killed");
        fails(wait, EpPeerLostException.class, "is lost during dispatch rows");
    }
}
