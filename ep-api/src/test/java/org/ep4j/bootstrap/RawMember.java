package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** A member without threads, for tests that send what a good one does not, or have very many. */
final class RawMember implements AutoCloseable {
    final SocketChannel socket;
    final Terms terms;
    final Seal up;
    private final FrameReader reader;
    private ByteBuffer in = ByteBuffer.allocate(0);

    RawMember(TcpSettings settings, UnaryOperator<byte[]> key) throws IOException {
        this(settings, key, Keys.random(Keys.BYTES));
    }

    RawMember(TcpSettings settings) throws IOException {
        this(settings, salt -> Keys.stretch(settings.secret(), salt));
    }

    RawMember(TcpSettings settings, UnaryOperator<byte[]> key, byte[] process) throws IOException {
        socket = SocketChannel.open();
        socket.socket().connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), settings.port()), 5000);
        ClientHandshake.Accepted accepted = new ClientHandshake(
                        settings.rank(), settings.size(), true, "the server", key, process)
                .ask(socket.socket(), Deadline.in(Ranks.LONG));
        socket.socket().setSoTimeout((int) Ranks.LONG.toMillis());
        terms = accepted.terms();
        up = accepted.session().up();
        reader = new FrameReader(accepted.session().down());
    }

    /** Takes part in the meeting with an address at which nobody listens. */
    void meet() throws IOException {
        send(Wire.contribute(Hub.SETUP, "start", new PeerAddress(Optional.empty(), 1).encode()));
    }

    void send(Frame frame) throws IOException {
        for (ByteBuffer buffer : frame.encode(up)) {
            while (buffer.hasRemaining()) {
                socket.write(buffer);
            }
        }
    }

    /** The next frame that is no sign of life. */
    Frame receive() throws IOException {
        while (true) {
            Optional<Frame> frame = in.hasRemaining() ? reader.next(in) : Optional.empty();
            if (frame.isPresent() && frame.get().type() != Frame.Type.HEARTBEAT) {
                return frame.get();
            }
            if (!in.hasRemaining()) {
                byte[] some = new byte[1 << 12];
                int got = socket.socket().getInputStream().read(some);
                if (got < 0) {
                    throw new IOException("the connection ended");
                }
                in = ByteBuffer.wrap(some, 0, got);
            }
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
