package org.ep4j.bootstrap;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;

/** Small helpers around sockets. */
final class Sockets {
    private Sockets() {}

    /** Closes what may be closed already. */
    static void close(Closeable socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // The descriptor is gone in any case, and nobody could do anything about it.
        }
    }

    /** What an exception says, or what it is when it says nothing. */
    static String describe(Exception e) {
        String message = e.getMessage();
        return message == null ? e.getClass().getSimpleName() : message;
    }

    /** Reads exactly {@code count} bytes, all of them before the deadline, however slowly they drip. */
    static byte[] read(Socket socket, int count, Deadline deadline) throws IOException {
        InputStream in = socket.getInputStream();
        byte[] bytes = new byte[count];
        int have = 0;
        while (have < count) {
            if (deadline.passed()) {
                throw new SocketTimeoutException("got " + have + " of " + count + " bytes in time");
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

    /** Swallows what the other side still sends, so that closing does not cut off what was sent to it. */
    static void drain(Socket socket, int most, Deadline deadline) {
        byte[] buffer = new byte[4096];
        int total = 0;
        try {
            socket.shutdownOutput();
            InputStream in = socket.getInputStream();
            int got = 0;
            while (got >= 0 && total < most && !deadline.passed()) {
                socket.setSoTimeout(deadline.sleepMillis());
                try {
                    got = in.read(buffer);
                    total += Math.max(got, 0);
                } catch (SocketTimeoutException e) {
                    // The deadline says whether that was too long.
                }
            }
        } catch (IOException e) {
            // It is closed next; whatever went wrong here changes nothing.
        }
    }
}
