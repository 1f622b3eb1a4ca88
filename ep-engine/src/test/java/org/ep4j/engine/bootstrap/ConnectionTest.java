package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.AbstractList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two ends of a connection, each on a loop of its own. */
@Tag("verify")
final class ConnectionTest {
    private static final Duration SILENCE = Duration.ofMinutes(10);

    private final TestClock leftClock = new TestClock();
    private final TestClock rightClock = new TestClock();
    private final IoLoop leftLoop = new IoLoop("ep4j-test-left", leftClock);
    private final IoLoop rightLoop = new IoLoop("ep4j-test-right", rightClock);
    private final End left = new End();
    private final End right = new End();
    private SocketChannel leftChannel;
    private SocketChannel rightChannel;
    private Connection leftConnection;
    private Connection rightConnection;

    /** What one end sees. */
    private static final class End implements Connection.Handler {
        private volatile boolean faulty;
        private final AtomicInteger failures = new AtomicInteger();
        private final List<Frame.Type> received = new CopyOnWriteArrayList<>();
        private final List<String> ended = new CopyOnWriteArrayList<>();

        @Override
        public void received(Frame frame) {
            if (faulty) {
                throw new OutOfMemoryError("Java heap space");
            }
            received.add(frame.type());
        }

        @Override
        public void ended(String reason) {
            if (failures.get() > 0) {
                failures.decrementAndGet();
                throw new OutOfMemoryError("Java heap space");
            }
            ended.add(reason);
        }
    }

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            leftChannel = SocketChannel.open(listener.getLocalAddress());
            rightChannel = listener.accept();
        }
        byte[] toRight = Handshake.nonce();
        byte[] toLeft = Handshake.nonce();
        Duration heartbeat = Duration.ofSeconds(1);
        leftConnection = new Connection(
                leftChannel, leftLoop, new Connection.Session(toRight, toLeft, heartbeat, SILENCE), leftClock);
        rightConnection = new Connection(
                rightChannel, rightLoop, new Connection.Session(toLeft, toRight, heartbeat, SILENCE), rightClock);
        leftConnection.start(left);
        rightConnection.start(right);
        leftConnection.send(Frame.HEARTBEAT);
        rightConnection.send(Frame.HEARTBEAT);
        Guard.until("both are served", () -> left.received.size() == 1 && right.received.size() == 1);
        left.received.clear();
        right.received.clear();
    }

    @AfterEach
    void end() {
        leftConnection.close("the test is over");
        rightConnection.close("the test is over");
        leftLoop.close();
        rightLoop.close();
    }

    @Test
    void closesWhenBothDirectionsHaveEnded() {
        leftConnection.send(Wire.leave(Hub.ROOT));
        Guard.until("the farewell has come", () -> right.received.contains(Frame.Type.LEAVE));
        rightConnection.finish();
        Guard.until("the left end knows", () -> !left.ended.isEmpty());
        Guard.until("both are closed", () -> !leftChannel.isOpen() && !rightChannel.isOpen());
        assertThat(left.ended).containsExactly("its connection ended");
        assertThat(right.ended).containsExactly("its connection ended");
    }

    @Test
    void everythingQueuedArrivesBeforeTheEnd() {
        for (int i = 0; i < 100; i++) {
            leftConnection.send(Wire.contribute("", "t" + i, new byte[1 << 16]));
        }
        leftConnection.finish();
        leftConnection.send(Frame.HEARTBEAT);
        Guard.until("the right end knows", () -> !right.ended.isEmpty());
        assertThat(right.received).hasSize(100).containsOnly(Frame.Type.CONTRIBUTE);
        assertThat(right.ended).containsExactly("its connection ended");
    }

    /** As of a process that was stopped: its thread reads nothing while time passes. */
    @Test
    void whatArrivedWhileTheThreadCouldNotReadIsNotSilence() {
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        rightLoop.execute(() -> {
            held.countDown();
            Deadline.in(Duration.ofDays(1), rightClock).awaitThroughInterrupts(goOn);
        });
        Guard.until("the thread is held", () -> held.getCount() == 0);
        leftConnection.send(Wire.leave("s"));
        leftConnection.finish();
        assertThat(leftConnection.awaitFinished(Deadline.in(Guard.minute(), NanoClock.SYSTEM)))
                .isTrue();
        rightClock.advance(SILENCE.plusSeconds(1));
        goOn.countDown();
        Guard.until("it is read", () -> !right.ended.isEmpty());
        assertThat(right.received).containsExactly(Frame.Type.LEAVE);
        assertThat(right.ended).containsExactly("its connection ended");
    }

    @Test
    void silenceEndsAConnectionAndHeartbeatsKeepOne() {
        for (int i = 0; i < 30; i++) {
            long before = leftConnection.received() + rightConnection.received();
            leftClock.advance(Duration.ofMinutes(1));
            rightClock.advance(Duration.ofMinutes(1));
            Guard.until("heartbeats come", () -> leftConnection.received() + rightConnection.received() >= before + 2);
        }
        assertThat(left.ended).isEmpty();
        assertThat(right.ended).isEmpty();
        CountDownLatch never = new CountDownLatch(1);
        leftLoop.execute(() -> Deadline.in(Duration.ofDays(1), leftClock).awaitThroughInterrupts(never));
        rightClock.advance(SILENCE);
        Guard.until("the right end notices", () -> !right.ended.isEmpty());
        assertThat(right.ended).containsExactly("its connection was silent for " + SILENCE.toMillis() + " ms");
        never.countDown();
    }

    @Test
    void cutsAConnectionForTheReasonGiven() {
        leftConnection.close("a reason");
        leftConnection.close("a later reason");
        Guard.until("both have ended", () -> !right.ended.isEmpty() && !left.ended.isEmpty());
        assertThat(left.ended).containsExactly("a reason");
    }

    /** The hub is in the middle of a call of another member, who must not be disturbed. */
    @Test
    void endsTheConnectionOfAMemberWhoseFramesCannotBeQueued() {
        Hub hub = new Hub(2, true, () -> {});
        RendezvousServer.Member member = new RendezvousServer.Member(1, 2, hub, leftConnection, () -> {});
        member.result(new Hub.Result("", "t", new AbstractList<>() {
            @Override
            public byte[] get(int index) {
                throw new OutOfMemoryError("Java heap space");
            }

            @Override
            public int size() {
                return 2;
            }
        }));
        Guard.until("both have ended", () -> !right.ended.isEmpty() && !left.ended.isEmpty());
        assertThat(left.ended)
                .containsExactly(
                        "rank 0 could not queue a message to the lost rank, probably because rank 0 ran out of memory");
    }

    /** It sends heartbeats, but does not react to the end of what it receives. */
    @Test
    void cutsOffAnEndThatDoesNotEndItsDirection() throws IOException {
        TestClock clock = new TestClock();
        End end = new End();
        byte[] toServed = Handshake.nonce();
        try (ServerSocketChannel listener = ServerSocketChannel.open();
                IoLoop loop = new IoLoop("ep4j-test-served", clock)) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (SocketChannel raw = SocketChannel.open(listener.getLocalAddress())) {
                Connection served = new Connection(
                        listener.accept(),
                        loop,
                        new Connection.Session(Handshake.nonce(), toServed, Duration.ofSeconds(1), SILENCE),
                        clock);
                served.start(end);
                served.finish();
                assertThat(served.awaitFinished(Deadline.in(Guard.minute(), NanoClock.SYSTEM)))
                        .isTrue();
                Records records = new Records(toServed);
                // The last one arrives less than the silence before.
                for (int i = 0; i < 3; i++) {
                    ByteBuffer record = ByteBuffer.allocate(Records.MAX_BYTES);
                    byte[] heartbeat = Frame.HEARTBEAT.pieces().get(0);
                    records.seal(heartbeat, heartbeat.length, record);
                    raw.write(record.flip());
                    long want = i + 1L;
                    Guard.until("the heartbeat is read", () -> served.received() == want);
                    clock.advance(SILENCE.multipliedBy(2).dividedBy(5));
                }
                Guard.until("it has ended", () -> !end.ended.isEmpty());
                assertThat(end.ended)
                        .containsExactly("its connection was not closed within " + SILENCE.toMillis() + " ms");
            }
        }
    }

    /** The hub has to learn of it, or a gather waits for a member that has gone. */
    @Test
    void repeatsAnEndThatTheHandlerFailedToTake() {
        left.failures.set(2);
        leftConnection.close("a reason");
        Guard.until("the first try has failed", () -> left.failures.get() < 2);
        Guard.until("a timer has repeated it", () -> {
            leftClock.advance(Duration.ofSeconds(1));
            return !left.ended.isEmpty();
        });
        assertThat(left.ended).containsExactly("a reason");
        Guard.until("the channel is closed", () -> !leftChannel.isOpen());
    }

    @Test
    void anErrorInTheHandlerEndsTheConnectionOnce() {
        right.faulty = true;
        leftConnection.send(Wire.leave("s"));
        Guard.until("both have ended", () -> !right.ended.isEmpty() && !left.ended.isEmpty());
        assertThat(right.ended).containsExactly("memory ran out while its messages were handled");
    }
}
