package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.ep4j.engine.bootstrap.Handshake.Hello;
import org.ep4j.engine.bootstrap.Handshake.Proof;
import org.ep4j.engine.bootstrap.Handshake.Reply;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A member's side of handshakes with a server that knows the secret, and whose steps a test takes by hand. */
@Tag("verify")
final class HandshakeClientTest {
    private final Ranks ranks = new Ranks();
    private final Deadline deadline = Deadline.in(Ranks.LONG, NanoClock.SYSTEM);
    private ServerSocket listener;
    private TcpSettings settings;

    @BeforeEach
    void listen() throws IOException {
        listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        listener.setSoTimeout((int) Ranks.LONG.toMillis());
        settings = TcpGroup.settings(1, 2, listener.getLocalPort());
    }

    @AfterEach
    void end() throws IOException {
        listener.close();
        ranks.close();
    }

    /** The server's side of one handshake. */
    private final class Served implements AutoCloseable {
        private final Socket socket = listener.accept();
        private final byte[] said = Sockets.read(socket, Hello.PREFIX_BYTES + Hello.REST_BYTES, deadline);
        private final byte[] salt = Handshake.random(Secret.SALT_BYTES);
        private final byte[] challenge = Reply.challenge(settings.secret(), Handshake.nonce(), salt);
        private final byte[] key;

        /** Takes the next connection, up to the proof of the server. */
        Served() throws IOException {
            byte[] rest = Arrays.copyOfRange(said, Hello.PREFIX_BYTES, said.length);
            byte[] ofRendezvous = settings.secret().key(salt, settings.secret().iterations());
            key = Secret.connectionKey(
                    ofRendezvous, Hello.parse(Hello.VERSION, rest).salt());
            write(Reply.Type.CHALLENGE, challenge, Proof.SERVER.of(key, said, challenge));
        }

        /** Returns when the member has shown that it knows the secret. */
        void awaitProof() throws IOException {
            Sockets.read(socket, Proof.BYTES, deadline);
        }

        void accept(byte[] timing, byte[] shown) throws IOException {
            write(Reply.Type.ACCEPTED, Proof.ACCEPTED.of(key, said, challenge, timing), shown);
        }

        private void write(Reply.Type type, byte[] a, byte[] b) throws IOException {
            byte[] body = ByteBuffer.allocate(a.length + b.length).put(a).put(b).array();
            socket.getOutputStream().write(new Reply(type, body).bytes());
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static byte[] timing(int heartbeat, int silence) {
        return ByteBuffer.allocate(8).putInt(heartbeat).putInt(silence).array();
    }

    private CompletableFuture<Connection.Session> join(Socket socket) {
        return ranks.start(() -> {
            try {
                return Handshake.join(socket, settings, Handshake.nonce(), 1, settings.secret()::key, deadline);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @Test
    void takesNoTimesThatWereChangedOnTheWay() throws IOException {
        try (Socket member = TcpGroup.connect(settings.port())) {
            CompletableFuture<Connection.Session> session = join(member);
            try (Served server = new Served()) {
                server.accept(timing(1000, 10_000), timing(1000, 10_000));
                assertThat(Ranks.get(session).silence()).isEqualTo(Duration.ofSeconds(10));
            }
        }
        try (Socket member = TcpGroup.connect(settings.port())) {
            CompletableFuture<Connection.Session> session = join(member);
            try (Served server = new Served()) {
                server.accept(timing(1000, 10_000), timing(1000, 10_000_000));
                assertThatThrownBy(() -> Ranks.get(session)).hasMessageContaining("was changed in transit");
            }
        }
    }

    /** The salt of a rendezvous is new each time that rank 0 starts. */
    @Test
    void connectsToARankZeroThatWasStartedAgain() throws IOException {
        RendezvousClient client = new RendezvousClient(
                settings,
                List.of(InetAddress.getLoopbackAddress()),
                settings.port(),
                settings.deadline(settings.setupTimeout()),
                RendezvousClient::connect);
        CompletableFuture<TcpLink> link = ranks.start(client::connect);
        try (Served first = new Served()) {
            first.awaitProof();
        }
        try (Served again = new Served()) {
            again.accept(timing(1000, 10_000), timing(1000, 10_000));
            Ranks.get(link).cut();
        }
    }

    @Test
    void usesThePreferredAddressWhenRankZeroBeginsToListenAfterRefusingIt() throws IOException {
        InetAddress preferred = InetAddress.getByName("192.0.2.2");
        LocalInterface chosen = new LocalInterface("x0", List.of(new LocalInterface.Address(preferred, 24)));
        List<String> tried = new CopyOnWriteArrayList<>();
        RendezvousClient client = new RendezvousClient(
                TcpGroup.interfaces(settings, new ChosenInterfaces("", false, List.of(chosen), List.of(chosen))),
                List.of(InetAddress.getByName("192.0.2.1")),
                settings.port(),
                settings.deadline(settings.setupTimeout()),
                (socket, from, to, millis) -> {
                    tried.add(from.map(InetAddress::getHostAddress).orElse("any"));
                    if (tried.size() == 1) {
                        throw new ConnectException("Connection refused");
                    }
                    socket.connect(listener.getLocalSocketAddress(), millis);
                });
        CompletableFuture<TcpLink> link = ranks.start(client::connect);
        // The connection from any address, which the member closes.
        listener.accept().close();
        try (Served second = new Served()) {
            second.accept(timing(1000, 10_000), timing(1000, 10_000));
            Ranks.get(link).cut();
        }
        assertThat(tried).startsWith("192.0.2.2", "any", "192.0.2.2");
    }
}
