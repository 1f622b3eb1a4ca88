package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Listens and goes through the handshake without the secret, or refuses in another protocol version. */
final class FakeServer implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());

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

    private void serve(int version) {
        try (Socket socket = listener.accept()) {
            Deadline deadline = Deadline.in(Ranks.LONG);
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
                byte[] nonce = Keys.random(Keys.BYTES);
                byte[] salt = Keys.random(Keys.SALT_BYTES);
                write(
                        socket,
                        Reply.Type.CHALLENGE,
                        ByteBuffer.allocate(1 + Keys.SALT_BYTES + Keys.BYTES)
                                .put((byte) 1)
                                .put(salt)
                                .put(nonce)
                                .array());
                Sockets.read(socket, Keys.BYTES, deadline);
                byte[] terms =
                        new Terms(Duration.ofMillis(100), Duration.ofSeconds(1), true, new byte[Keys.BYTES]).encode();
                byte[] guess = new Session(Keys.stretch("a guess", salt), hello, nonce).serverProof(terms);
                write(
                        socket,
                        Reply.Type.ACCEPTED,
                        ByteBuffer.allocate(guess.length + terms.length)
                                .put(guess)
                                .put(terms)
                                .array());
            }
            socket.getInputStream().read();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void write(Socket socket, Reply.Type type, byte[] body) throws IOException {
        ByteBuffer reply = new Reply(type, body).encode();
        byte[] bytes = new byte[reply.remaining()];
        reply.get(bytes);
        socket.getOutputStream().write(bytes);
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
