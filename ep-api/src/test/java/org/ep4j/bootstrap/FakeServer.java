package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.ep4j.spi.NanoClock;

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
                byte[] nonce = Proof.nonce();
                new Reply(
                                Reply.Type.CHALLENGE,
                                ByteBuffer.allocate(33).put((byte) 1).put(nonce).array())
                        .write(socket);
                Sockets.read(socket, Proof.BYTES, deadline);
                byte[] timing = ByteBuffer.allocate(8).putInt(100).putInt(1000).array();
                byte[] guess = Proof.of("a guess", Proof.Role.SERVER, hello, nonce, timing);
                new Reply(
                                Reply.Type.ACCEPTED,
                                ByteBuffer.allocate(40).put(guess).put(timing).array())
                        .write(socket);
            }
            socket.getInputStream().read();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
