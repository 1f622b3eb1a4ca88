package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.ep4j.engine.bootstrap.Handshake.Hello;
import org.ep4j.engine.bootstrap.Handshake.Proof;
import org.ep4j.engine.bootstrap.Handshake.Reply;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;

/** Accepts one connection and goes through the handshake up to the member's proof, or refuses in another protocol version. */
final class FakeServer implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());

    private final CompletableFuture<Integer> learned = new CompletableFuture<>();

    /** A server that does not know the secret, and guesses it. */
    FakeServer() throws IOException {
        this(Hello.VERSION, Secret.of("a guess", 10), true);
    }

    /** A server of another version of the protocol. */
    FakeServer(int version) throws IOException {
        this(version, Secret.NONE, true);
    }

    /**
     * A server that knows the secret.
     *
     * @param mixes whether its key depends on the member's salt, as it must
     */
    FakeServer(Secret secret, boolean mixes) throws IOException {
        this(Hello.VERSION, secret, mixes);
    }

    private FakeServer(int version, Secret secret, boolean mixes) throws IOException {
        Thread thread = new Thread(() -> serve(version, secret, mixes), "fake-server");
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listener.getLocalPort();
    }

    /** How many bytes of a proof the member sent after the server's. */
    int learned() {
        return Ranks.get(learned);
    }

    private void serve(int version, Secret secret, boolean mixes) {
        try (Socket socket = listener.accept()) {
            Deadline deadline = Deadline.in(Ranks.LONG, NanoClock.SYSTEM);
            byte[] rest = Sockets.read(socket, Hello.PREFIX_BYTES + Hello.REST_BYTES, deadline);
            if (version != Hello.VERSION) {
                byte[] text = "a newer server says no".getBytes(StandardCharsets.UTF_8);
                socket.getOutputStream()
                        .write(ByteBuffer.allocate(9 + text.length)
                                .putInt(Hello.MAGIC)
                                .putShort((short) version)
                                .put((byte) 0)
                                .putShort((short) text.length)
                                .put(text)
                                .array());
            } else {
                Hello hello = Hello.parse(version, java.util.Arrays.copyOfRange(rest, Hello.PREFIX_BYTES, rest.length));
                // A salt that an attacker would have chosen, with the keys of many secrets computed beforehand.
                byte[] salt = new byte[Secret.SALT_BYTES];
                byte[] challenge = Reply.challenge(secret, Handshake.nonce(), salt);
                byte[] itsKey = secret.key(salt, secret.iterations());
                byte[] key = mixes ? Secret.connectionKey(itsKey, hello.salt()) : itsKey;
                byte[] guess = Proof.SERVER.of(key, hello.bytes(), challenge);
                byte[] body = ByteBuffer.allocate(challenge.length + guess.length)
                        .put(challenge)
                        .put(guess)
                        .array();
                socket.getOutputStream().write(new Reply(Reply.Type.CHALLENGE, body).bytes());
            }
            learned.complete(socket.getInputStream().readNBytes(Proof.BYTES).length);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
