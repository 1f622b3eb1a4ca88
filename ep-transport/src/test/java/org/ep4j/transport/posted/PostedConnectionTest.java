package org.ep4j.transport.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpTraffic;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.WordMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Connections of rank 0 to rank 1, and buffers over them, without a backend. */
@Tag("verify")
final class PostedConnectionTest {
    private static final int BYTES = 4096;
    private static final Duration LONG = Guard.minute();

    private final FakeNetwork network = new FakeNetwork();
    private final List<WordMemory> words = new ArrayList<>();
    private final FakeNetwork.Memory mine = memory();
    private final FakeNetwork.Memory theirs = memory();
    private final FakeNetwork.Connection connection = connection(LONG);
    private final PostedBuffer<FakeNetwork.Memory> buffer = buffer(connection);
    private final List<PostedBuffer<FakeNetwork.Memory>> closed = new ArrayList<>();

    private FakeNetwork.Memory memory() {
        WordMemory memory = WordMemory.allocate(BYTES);
        words.add(memory);
        return network
        .new Memory(DeviceMemory.of(memory.address(), BYTES, Device.HOST), new PostedMemory.Registrations());
    }

    private FakeNetwork.Connection connection(Duration timeout) {
        mine.keys(List.of(mine.key(), theirs.key()));
        EpFailure failure = EpFailure.builder("host-posted writes", 1).host("b").build();
        return network.new Connection(new PostedPeer(1, 1, "rank 1", failure), 0, timeout);
    }

    private PostedBuffer<FakeNetwork.Memory> buffer(FakeNetwork.Connection over) {
        return new PostedBuffer<>(
                "fake", "b", 0, mine, Map.of(1, over), new PostedBuffer.LastRead(), one -> closed.add(one));
    }

    /** The peer has advanced one of its counters here. */
    private void arrives(int counter, long value) {
        mine.set(1, counter, value);
    }

    @Test
    void writesAndCountersArrive() {
        words.get(0).words().putLong(8, 77);
        buffer.put(1, 16, 8, 8);
        buffer.putMessage(1, 24, 8, 0);
        buffer.signal(1, 5, 3);
        buffer.flush(1, Deadline.in(LONG).nanoTime());
        assertThat(words.get(1).words().getLong(16)).isEqualTo(77);
        assertThat(theirs.showNew(0, 5)).isTrue();
        assertThat(theirs.shown(0, 5)).isEqualTo(3);
        EpTraffic.Lane lane = connection.traffic().lanes().get(0);
        assertThat(List.of(lane.bytes(), lane.writes(), lane.signals())).containsExactly(8L, 1L, 1L);
    }

    @Test
    void wrongArgumentsAreRefused() {
        assertThatThrownBy(() -> buffer.put(1, BYTES - 7, 0, 8)).hasMessageContaining("target [4089, 4089 + 8)");
        assertThatThrownBy(() -> buffer.put(1, 0, -1, 8)).hasMessageContaining("source [-1");
        assertThatThrownBy(() -> buffer.put(0, 0, 0, 8)).hasMessageContaining("rank 0 is not connected to rank 0");
        assertThatThrownBy(() -> buffer.signal(1, 64, 1)).hasMessageContaining("counter is 64");
        buffer.close();
        assertThatThrownBy(buffer::local)
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("fake buffer \"b\" of rank 0 is closed");
    }

    @Test
    void aCallEndsAtItsDeadlineAndSaysWhatItWaitedFor() {
        network.stalled = true;
        PostedBuffer<FakeNetwork.Memory> impatient = buffer(connection(Duration.ofMillis(20)));
        assertThatThrownBy(() -> {
                    for (int i = 0; i <= FakeNetwork.DEPTH; i++) {
                        impatient.put(1, 0, 0, 8);
                    }
                })
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                    assertThat(e.failure().phase()).isEqualTo("room");
                    assertThat(e.failure().seen()).isEqualTo(FakeNetwork.DEPTH);
                    assertThat(e.failure().host()).isEqualTo("b");
                })
                .hasMessageContainingAll(
                        "rank 1 accepted no data before the deadline: this rank waited for room, with 16 requests"
                                + " under way",
                        "raise ep.timeout");
    }

    /** As of a thread that got no CPU until its deadline. */
    @Test
    void aCallThatIsLatePollsOnceMore() {
        network.stalled = true;
        buffer.put(1, 0, 0, 8);
        for (int call = 0; call < 2; call++) {
            connection.polls.set(0);
            assertThatThrownBy(() -> buffer.flush(1, System.nanoTime())).isInstanceOf(EpTimeoutException.class);
            assertThat(connection.polls).hasValue(2);
        }
    }

    @Test
    void aFlushWaitsForOtherThreadsNoLongerThanItsDeadline() {
        connection.hold(() -> assertThatThrownBy(() -> CompletableFuture.runAsync(() -> buffer.flush(
                                1, Deadline.in(Duration.ofMillis(5)).nanoTime()))
                        .join())
                .hasCauseInstanceOf(EpTimeoutException.class)
                .hasMessageContaining("the connection to rank 1 stayed busy until the deadline: another thread"));
        buffer.flush(1, Deadline.in(LONG).nanoTime());
    }

    @Test
    void aCheckEndsTheWaitsOfItsOwnCallsAlone() {
        network.stalled = true;
        buffer.put(1, 0, 0, 8);
        EpPeerLostException leftOut = new EpPeerLostException(
                "this rank is left out", EpFailure.builder("post", 0).build());
        buffer.setWaitCheck(() -> {
            throw leftOut;
        });
        assertThatThrownBy(() -> buffer.flush(1, Deadline.in(LONG).nanoTime())).isSameAs(leftOut);
        PostedBuffer<FakeNetwork.Memory> other = buffer(connection);
        assertThatThrownBy(
                        () -> other.flush(1, Deadline.in(Duration.ofMillis(20)).nanoTime()))
                .isInstanceOf(EpTimeoutException.class);
    }

    @Test
    void isIdleOnceNothingIsInFlightAndNoOtherThreadUsesIt() {
        network.stalled = true;
        buffer.put(1, 0, 0, 8);
        assertThat(buffer.isIdle(1)).isFalse();
        network.stalled = false;
        assertThat(buffer.isIdle(1)).isTrue();
        connection.hold(() -> assertThat(
                        CompletableFuture.supplyAsync(connection::isIdle).join())
                .isFalse());
    }

    @Test
    void commandsRunInOrderUntilThePeerIsLost() {
        List<String> done = new ArrayList<>();
        connection.hold(() -> CompletableFuture.runAsync(() -> {
                    connection.command(() -> {
                        done.add("first");
                        connection.command(() -> connection.lose(
                                "it was the third", connection.peer().failure()));
                    });
                    connection.command(() -> done.add("second"));
                })
                .join());
        assertThat(done).isEmpty();
        connection.tryProgress();
        connection.command(() -> done.add("after the loss"));
        assertThat(done).containsExactly("first", "second");
        assertThat(connection.isLost()).isTrue();
    }

    @Test
    void whatCameBeforeALossIsReadFirst() {
        arrives(2, 7);
        connection.peerGone("it has left the group");
        assertThat(connection.stops).isEqualTo(1);
        assertThat(connection.ends).isEqualTo(1);
        assertThat(connection.lostBeforeStop).isFalse();
        assertThat(buffer.counter(2, 1)).isEqualTo(7);
        assertThatThrownBy(() -> buffer.counter(2, 1))
                .isInstanceOfSatisfying(
                        EpPeerLostException.class,
                        e -> assertThat(e.failure()).isEqualTo(connection.peer().failure()))
                .hasMessage("rank 1 cannot be reached: it has left the group; see the fake network, or continue without"
                        + " that rank");
        assertThatThrownBy(() -> buffer.put(1, 0, 0, 8)).isInstanceOf(EpPeerLostException.class);
        assertThat(connection.traffic().lanes()).noneMatch(EpTraffic.Lane::alive);
    }

    /** Another thread may take in the last value and lose the peer during a call: after it looks for the first or the second time. */
    @Test
    void whatComesJustBeforeALossIsRead() {
        for (int look = 1; look <= 2; look++) {
            int counter = look;
            FakeNetwork.Connection over = connection(LONG);
            PostedBuffer<FakeNetwork.Memory> reader = buffer(over);
            AtomicInteger looks = new AtomicInteger();
            mine.onShow = () -> {
                if (looks.incrementAndGet() == counter) {
                    arrives(counter, 5);
                    over.end("lost in a test");
                }
            };
            assertThat(reader.counter(counter, 1)).isEqualTo(5);
            assertThatThrownBy(() -> reader.counter(counter, 1)).isInstanceOf(EpPeerLostException.class);
        }
    }

    /** What a NIC says of the peer is a consequence of its end. */
    @Test
    void aPeerThatIsGoneIsLostForThisReason() {
        connection.onPoll =
                () -> connection.lose("its NIC fails", connection.peer().failure("nic", 5, "made up"));
        connection.peerGone("its process is lost");
        assertThat(connection.lostNow()).hasMessageContaining("rank 1 cannot be reached: its process is lost");
        assertThat(connection.lostNow().failure().nic()).isEmpty();
        assertThat(connection.stops).isEqualTo(1);
        assertThat(connection.ends).isZero();
    }

    @Test
    void anEndReachesAThreadThatWaits() {
        network.stalled = true;
        CountDownLatch polls = new CountDownLatch(1);
        buffer.put(1, 0, 0, 8);
        connection.onPoll = polls::countDown;
        CompletableFuture<Void> waiting = CompletableFuture.runAsync(
                () -> buffer.flush(1, Deadline.in(LONG).nanoTime()));
        Guard.await(polls);
        connection.end("this rank has left it out");
        assertThat(waiting)
                .failsWithin(LONG)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(EpPeerLostException.class)
                .withMessageContaining("this rank has left it out");
    }

    @Test
    void onlyAThreadThatReadsFromOnePeerAgainPollsOften() {
        PostedBuffer.LastRead last = new PostedBuffer.LastRead();
        assertThat(last.polls("one")).isEqualTo(1);
        assertThat(last.polls("one")).isGreaterThan(1);
        assertThat(last.polls("other")).isEqualTo(1);
        assertThat(last.polls("one")).isEqualTo(1);
        connection.polls.set(0);
        arrives(0, 1);
        assertThat(buffer.counter(0, 1)).isEqualTo(1);
        assertThat(connection.polls).as("there was something new").hasValue(0);
        assertThat(buffer.counter(0, 1)).isEqualTo(1);
        assertThat(connection.polls).hasValue(1);
    }

    @Test
    void aBackgroundThreadLeavesAConnectionToThreadsThatPollIt() {
        ProgressThreads.Background background = new ProgressThreads.Background(connection);
        for (int round = 1; round <= 3; round++) {
            connection.tryProgress();
            int others = connection.polls.get();
            assertThat(background.poll()).isFalse();
            assertThat(connection.polls).hasValue(others);
            background.poll();
            background.poll();
            assertThat(connection.polls).hasValue(others + 2);
        }
    }

    @Test
    void nothingIsFreedUnderAThreadThatRunsOn() throws InterruptedException {
        CountDownLatch end = new CountDownLatch(1);
        Thread running = new Thread(() -> Guard.await(end));
        running.start();
        AtomicInteger freed = new AtomicInteger();
        ProgressThreads.release(List.of(running), freed::incrementAndGet);
        assertThat(freed).hasValue(0);
        end.countDown();
        running.join();
        ProgressThreads.release(List.of(running), freed::incrementAndGet);
        assertThat(freed).hasValue(1);
    }

    @Test
    void aBufferThatClosesNotifiesThePeerAfterWhatItWrote() {
        network.stalled = true;
        buffer.put(1, 0, 0, 8);
        List<Integer> noticesBefore = new ArrayList<>();
        connection.onPoll = () -> {
            noticesBefore.add(connection.notices);
            network.stalled = noticesBefore.size() < 3;
        };
        buffer.close();
        assertThat(noticesBefore).startsWith(0, 0, 0);
        assertThat(connection.notices).isEqualTo(1);
        assertThat(theirs.isClosedBy(0)).isTrue();
        assertThat(closed).containsExactly(buffer);
        buffer.close();
        assertThat(closed).hasSize(1);
    }

    /** It may close the buffer once it is notified, and what it has registered is gone then. */
    @Test
    void aPeerThatAcceptsNothingForAWhileIsNotifiedOnce() {
        network.stalled = true;
        connection.onDrain = () -> network.stalled = connection.notices == 0;
        buffer.close();
        assertThat(connection.notices).isEqualTo(1);
        assertThat(theirs.isClosedBy(0)).isTrue();
        assertThat(connection.isLost()).isFalse();
    }

    /** As acknowledgements do, which are posted for a peer that continues to write. */
    @Test
    void aDrainEndsAtItsLimitWhileTheAmountInFlightChanges() {
        connection.acknowledgements = 1;
        connection.onPoll = () -> connection.acknowledgements = 3 - connection.acknowledgements;
        assertThat(connection.drainThen(LONG, Deadline.in(PostedBuffer.TURN), () -> {}))
                .isFalse();
    }

    /** The memory of the buffer is given back, so nothing may read it when the connection works again. */
    @Test
    void aBufferThatClosesEndsAConnectionOnWhichNothingArrives() {
        network.stalled = true;
        buffer.put(1, 0, 0, 8);
        buffer.close();
        assertThat(connection.lostNow())
                .hasMessageContaining("this rank has closed fake buffer \"b\" of rank 0 with writes in flight");
        assertThat(connection.notices).isZero();
    }

    @Test
    void aBufferThatClosesKeepsAConnectionThatAnotherThreadUses() {
        PostedBuffer<FakeNetwork.Memory> other = buffer(connection);
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> {
            while (closed.isEmpty()) {
                other.put(1, 0, 0, 64);
                begun.countDown();
            }
        });
        Guard.await(begun);
        buffer.close();
        writing.join();
        assertThat(connection.isLost()).isFalse();
        assertThat(theirs.isClosedBy(0)).isTrue();
    }

    @Test
    void nothingIsWrittenForABufferThatThePeerHasClosed() {
        mine.close(1);
        buffer.put(1, 0, 0, 8);
        buffer.signal(1, 0, 1);
        assertThat(connection.inFlight()).isZero();
        assertThat(connection.traffic().lanes().get(0).writes()).isZero();
    }

    /** Another thread may wait for the peer of a connection as long as an operation may take. */
    @Test
    void aBufferIsClosedByAllOnceNobodyUsesTheConnection() {
        assertThat(buffer.isClosedByAll()).isFalse();
        mine.close(1);
        connection.hold(() -> assertThat(
                        CompletableFuture.supplyAsync(buffer::isClosedByAll).join())
                .isFalse());
        assertThat(buffer.isClosedByAll()).isTrue();
    }

    /** Other threads may wait for one peer or another at any time. */
    @Test
    void eachConnectionIsFreeOnceAfterItsPeerHasClosed() {
        FakeNetwork.Connection other = connection(LONG);
        PostedBuffer<FakeNetwork.Memory> both = new PostedBuffer<>(
                "fake",
                "b",
                0,
                mine,
                Map.of(1, connection, 2, other),
                new PostedBuffer.LastRead(),
                one -> closed.add(one));
        mine.close(1);
        connection.hold(() -> assertThat(
                        CompletableFuture.supplyAsync(both::isClosedByAll).join())
                .isFalse());
        other.hold(() -> assertThat(
                        CompletableFuture.supplyAsync(both::isClosedByAll).join())
                .isTrue());
    }

    @Test
    void aBufferIsClosedByAllWherePeersAreLost() {
        assertThat(buffer.isClosedByAll()).isFalse();
        connection.end("lost in a test");
        assertThat(buffer.isClosedByAll()).isTrue();
    }
}
