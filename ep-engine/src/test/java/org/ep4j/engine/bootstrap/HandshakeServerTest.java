package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A handshake whose owner runs out of memory. */
@Tag("verify")
final class HandshakeServerTest {
    private final TcpSettings settings = TcpGroup.settings(0, 2, 0);
    private final byte[] salt = new byte[Secret.SALT_BYTES];
    private final IoLoop loop = new IoLoop("ep4j-test-handshake", settings.clock());
    private SocketChannel member;
    private SocketChannel served;

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            member = SocketChannel.open(listener.getLocalAddress());
            served = listener.accept();
        }
    }

    @AfterEach
    void end() throws IOException {
        loop.close();
        member.close();
        served.close();
    }

    /** Fails at one place, and writes down what it is called for. */
    private static final class Owner implements Handshake.Owner {
        private final List<String> calls = new CopyOnWriteArrayList<>();
        private final String failing;

        Owner(String failing) {
            this.failing = failing;
        }

        private void called(String name) {
            calls.add(name);
            if (name.equals(failing)) {
                throw new OutOfMemoryError("Java heap space");
            }
        }

        @Override
        public void identified(Handshake handshake) {
            called("identified");
            try {
                handshake.accept();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public void accepted(Handshake handshake) {
            called("accepted");
        }

        @Override
        public void ended(Handshake handshake, String why) {
            called("ended");
        }

        @Override
        public void closed(Handshake handshake) {
            called("closed");
        }
    }

    /** The calls of an owner whose method fails, once the handshake is over. */
    private List<String> callsWhenFailingIn(String method) throws IOException {
        Owner owner = new Owner(method);
        byte[] key = settings.secret().key(salt, settings.secret().iterations());
        loop.register(served, SelectionKey.OP_READ, new Handshake(served, settings, key, salt, owner));
        Throwable seen = catchThrowable(() -> Handshake.join(
                member.socket(),
                TcpGroup.rank(settings, 1, 0),
                Handshake.nonce(),
                1,
                settings.secret()::key,
                Deadline.in(Ranks.LONG, NanoClock.SYSTEM)));
        Guard.until("the handshake is over", () -> owner.calls.contains("ended"));
        assertThat(served.isOpen()).isFalse();
        // The last message has been written when the member is handed over.
        assertThat(seen == null).as("%s", seen).isEqualTo(method.equals("accepted"));
        return owner.calls;
    }

    @Test
    void endsOnceWhenTheOwnerCannotTakeTheMember() throws IOException {
        assertThat(callsWhenFailingIn("accepted")).containsExactly("identified", "accepted", "closed", "ended");
    }

    @Test
    void endsOnceWhenTheOwnerCannotReserveTheRank() throws IOException {
        assertThat(callsWhenFailingIn("identified")).containsExactly("identified", "closed", "ended");
    }
}
