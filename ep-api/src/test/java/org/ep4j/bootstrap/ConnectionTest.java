package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.ep4j.spi.NanoClock;
import org.ep4j.testing.Guard;
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
        byte[] toRight = Proof.nonce();
        byte[] toLeft = Proof.nonce();
        Duration heartbeat = Duration.ofSeconds(1);
        leftConnection = new Connection(
                leftChannel, leftLoop, new Connection.Session(toRight, toLeft, heartbeat, SILENCE), leftClock);
        rightConnection = new Connection(
                rightChannel, rightLoop, new Connection.Session(toLeft, toRight, heartbeat, SILENCE), rightClock);
        leftConnection.start(left);
        rightConnection.start(right);
        leftConnection.send(Frame.HEARTBEAT);
        rightConnection.send(Frame.HEARTBEAT);
        Guard.until("both are served", () -> leftConnection.received() == 1 && rightConnection.received() == 1);
        left.received.clear();
        right.received.clear();
    }

    @AfterEach
    void end() {
        leftConnection.close();
        rightConnection.close();
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
        assertThat(right.ended).containsExactly("nothing was heard from it for " + SILENCE.toMillis() + " ms");
        never.countDown();
    }

    @Test
    void anErrorInTheHandlerEndsTheConnectionOnce() {
        right.faulty = true;
        leftConnection.send(Wire.leave("s"));
        Guard.until("both have ended", () -> !right.ended.isEmpty() && !left.ended.isEmpty());
        assertThat(right.ended).containsExactly("its connection broke: Java heap space");
    }
}
