package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.EpUnavailableException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Errors where a thread or memory is missing: each ends one connection, and the port goes on being served. */
@Timeout(60)
class ReactorTest {
    private static final byte[] KEY = new byte[Keys.BYTES];

    private final LogCapture log = new LogCapture();
    private final Reactor reactor = Reactor.start("ep4j-test");

    @AfterEach
    void end() {
        reactor.stop();
        log.close();
    }

    /** Throws where a test wants it, and else lets everybody in. */
    private static final class FaultyGate implements Gate {
        private final int faults;
        private final String where;
        private final AtomicInteger calls = new AtomicInteger();
        private final AtomicInteger ended = new AtomicInteger();

        FaultyGate(String where, int faults) {
            this.where = where;
            this.faults = faults;
        }

        private void fault(String here) {
            if (here.equals(where) && calls.incrementAndGet() <= faults) {
                throw new OutOfMemoryError("unable to create native thread (injected)");
            }
        }

        @Override
        public boolean secret() {
            return true;
        }

        @Override
        public int size() {
            return 2;
        }

        @Override
        public byte[] key() {
            fault("accept");
            return KEY;
        }

        @Override
        public byte[] salt() {
            fault("hello");
            return new byte[Keys.SALT_BYTES];
        }

        @Override
        public Terms terms() {
            return new Terms(Duration.ofMillis(100), Duration.ofSeconds(5), true, new byte[Keys.BYTES]);
        }

        @Override
        public void check(Hello hello, String who) {
            fault("check");
        }

        @Override
        public Connection.Handler enter(Hello hello, String who, Connection connection) {
            fault("enter");
            return new Connection.Handler() {
                @Override
                public void received(Frame frame) {
                    fault("frame");
                    connection.send(frame);
                }

                @Override
                public void ended(String reason) {
                    ended.incrementAndGet();
                    fault("end");
                }
            };
        }
    }

    @Test
    void everyErrorEndsOneConnectionAndThePortIsStillServed() throws IOException {
        for (String where : new String[] {"accept", "hello", "check", "enter", "frame", "end"}) {
            FaultyGate gate = new FaultyGate(where, 3);
            Acceptor acceptor = new Acceptor(
                    reactor, Listener.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)), gate);
            acceptor.start();
            TcpSettings one = TcpGroup.settings(1, 2, acceptor.address().getPort());
            int failed = 0;
            for (int i = 0; i < 6; i++) {
                try (RawMember member = new RawMember(one, salt -> KEY)) {
                    member.send(Wire.leave("x"));
                    assertThat(member.receive().type()).isEqualTo(Frame.Type.LEAVE);
                } catch (IOException | EpUnavailableException e) {
                    failed++;
                }
            }
            assertThat(failed).as(where).isBetween(where.equals("end") ? 0 : 2, where.equals("end") ? 0 : 3);
            if (where.equals("end")) {
                Ranks.until("all ends came", () -> gate.ended.get() == 6);
            }
            acceptor.close(Deadline.in(Ranks.LONG));
        }
    }

    @Test
    void aTaskThatThrowsDoesNotEndTheThread() {
        CountDownLatch after = new CountDownLatch(1);
        reactor.execute(() -> {
            throw new StackOverflowError("injected");
        });
        reactor.execute(after::countDown);
        assertThat(Deadline.in(Ranks.LONG).await(after)).isTrue();
    }

    @Test
    void aPortThatIsClosedIsFreeAtOnce() throws IOException {
        for (int i = 0; i < 20; i++) {
            Acceptor acceptor = new Acceptor(
                    reactor,
                    Listener.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
                    new FaultyGate("", 0));
            acceptor.start();
            try (Socket stranger = TcpGroup.connect(acceptor.address().getPort())) {
                acceptor.close(Deadline.in(Ranks.LONG));
                Listener.open(acceptor.address()).close();
                assertThat(stranger.isConnected()).isTrue();
            }
        }
    }

    @Test
    void aSocketThatComesAfterTheEndIsClosed() throws IOException {
        reactor.stop();
        try (SocketChannel socket = SocketChannel.open()) {
            socket.configureBlocking(false);
            CountDownLatch told = new CountDownLatch(1);
            reactor.register(socket, SelectionKey.OP_READ, new Reactor.Channel() {
                @Override
                public void ready(SelectionKey key) {
                    throw new IllegalStateException("the reactor has ended");
                }

                @Override
                public void tick(long now) {
                    throw new IllegalStateException("the reactor has ended");
                }

                @Override
                public void broken(Throwable cause) {
                    told.countDown();
                }
            });
            assertThat(told.getCount()).isZero();
            assertThat(socket.isOpen()).isFalse();
        }
    }

    @Test
    void aConnectionThatBothSidesHaveFinishedIsClosedAtOnce() throws IOException {
        try (ServerSocketChannel listener =
                        ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                SocketChannel far = SocketChannel.open(listener.getLocalAddress());
                SocketChannel near = listener.accept()) {
            near.configureBlocking(false);
            FaultyGate gate = new FaultyGate("", 0);
            Connection connection = new Connection(reactor, near, new Seal(KEY), new Seal(KEY), gate.terms());
            connection.handler(new Connection.Handler() {
                @Override
                public void received(Frame frame) {
                    throw new IllegalStateException("nothing was sent");
                }

                @Override
                public void ended(String reason) {
                    assertThat(reason).isEqualTo("its connection ended");
                }
            });
            connection.start();
            connection.finish();
            assertThat(far.read(ByteBuffer.allocate(1))).isEqualTo(-1);
            far.shutdownOutput();
            long start = System.nanoTime();
            Ranks.until("the connection is closed", () -> !near.isOpen());
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
        }
    }
}
