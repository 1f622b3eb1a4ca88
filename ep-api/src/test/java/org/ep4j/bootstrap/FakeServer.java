package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.ep4j.spi.NanoClock;

/** Listens and goes through the handshake without the secret, or refuses in another protocol version. */
final class FakeServer implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());

    private final CompletableFuture<Integer> learned = new CompletableFuture<>();

    FakeServer() throws IOException {
        this(Hello.VERSION);
    }

    FakeServer(int version) throws IOException {
        Thread thread = new Thread(() -> serve(version), "fake-server");
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listener.getLocalPort();
    }

    /** How many bytes a member sent after the server's false proof. */
    int learned() {
        return Ranks.get(learned);
    }

    private void serve(int version) {
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
                Secret guessed = Secret.of("a guess", 10);
                byte[] salt = new byte[Secret.SALT_BYTES];
                byte[] challenge = Reply.challenge(guessed, Proof.nonce(), salt);
                byte[] guess = Proof.of(
                        guessed.key(salt, guessed.iterations()), Proof.Purpose.SERVER, hello.bytes(), challenge);
                byte[] body = ByteBuffer.allocate(challenge.length + guess.length)
                        .put(challenge)
                        .put(guess)
                        .array();
                socket.getOutputStream().write(new Reply(Reply.Type.CHALLENGE, body).bytes());
            }
            learned.complete(socket.getInputStream().readAllBytes().length);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
