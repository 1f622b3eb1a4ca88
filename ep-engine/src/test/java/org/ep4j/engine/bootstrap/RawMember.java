package org.ep4j.engine.bootstrap;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;

/** A member that is let in and then sends what a test wants, and reads nothing. */
final class RawMember implements Closeable {
    private final Socket socket;
    private final Records records;

    /** Joins as the rank of the settings, at their port. */
    RawMember(TcpSettings settings, byte[] process, int attempt) throws IOException {
        socket = TcpGroup.connect(settings.port());
        boolean joined = false;
        try {
            Connection.Session session = Handshake.join(
                    socket,
                    settings,
                    process,
                    attempt,
                    settings.secret()::key,
                    Deadline.in(Ranks.LONG, NanoClock.SYSTEM));
            records = new Records(session.sent());
            joined = true;
        } finally {
            if (!joined) {
                socket.close();
            }
        }
    }

    Socket socket() {
        return socket;
    }

    void send(Frame frame) throws IOException {
        var bytes = new ByteArrayOutputStream();
        frame.pieces().forEach(bytes::writeBytes);
        send(bytes.toByteArray());
    }

    /** Sends bytes that are authentic, whatever they say. */
    void send(byte[] bytes) throws IOException {
        for (int from = 0; from < bytes.length; from += Records.MAX_PAYLOAD) {
            byte[] payload = Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + Records.MAX_PAYLOAD));
            ByteBuffer record = ByteBuffer.allocate(Records.MAX_BYTES);
            records.seal(payload, payload.length, record);
            socket.getOutputStream().write(record.array(), 0, record.position());
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
