package org.ep4j.engine.bootstrap;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import org.ep4j.transport.Deadline;

/** Static helpers for sockets. */
final class Sockets {
    private Sockets() {}

    /** Closes a socket, which may be closed already. */
    static void close(Closeable socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // The descriptor is closed in any case.
        }
    }

    /** Returns the message of an exception, or its class if it has none. */
    static String describe(Throwable e) {
        String message = e.getMessage();
        return message == null ? e.getClass().getSimpleName() : message;
    }

    /** Reads exactly {@code count} bytes, all of them before the deadline, however slowly they arrive. */
    static byte[] read(Socket socket, int count, Deadline deadline) throws IOException {
        InputStream in = socket.getInputStream();
        byte[] bytes = new byte[count];
        int have = 0;
        while (have < count) {
            if (deadline.passed()) {
                throw new SocketTimeoutException(
                        "only " + have + " of " + count + " bytes arrived before the deadline");
            }
            socket.setSoTimeout(deadline.sleepMillis());
            try {
                int got = in.read(bytes, have, count - have);
                if (got < 0) {
                    throw new EOFException("the connection ended after " + have + " of " + count + " bytes");
                }
                have += got;
            } catch (SocketTimeoutException e) {
                // The deadline says whether that was too long.
            }
        }
        return bytes;
    }
}
