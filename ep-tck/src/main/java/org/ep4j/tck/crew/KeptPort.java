package org.ep4j.tck.crew;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * A free TCP port of this machine, kept for rank 0 of a group that is about to start: nobody else is given it while this is
 * open. It is bound, not listened at, and may be reused; a server socket of Java binds to such a port beside it (socket(7) of
 * Linux, {@code SO_REUSEADDR}), as a server does that asks for reuse.
 */
public final class KeptPort implements AutoCloseable {
    private final Socket holder;

    private KeptPort(Socket holder) {
        this.holder = holder;
    }

    /** Takes a free port. */
    public static KeptPort take() {
        Socket holder = new Socket();
        try {
            holder.setReuseAddress(true);
            holder.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            return new KeptPort(holder);
        } catch (IOException e) {
            close(holder);
            throw new UncheckedIOException("no free port on the loopback interface", e);
        }
    }

    /** Its number. */
    public int number() {
        return holder.getLocalPort();
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot give a port back", e);
        }
    }

    /** Gives it back, when rank 0 has it. A second call does nothing. */
    @Override
    public void close() {
        close(holder);
    }
}
