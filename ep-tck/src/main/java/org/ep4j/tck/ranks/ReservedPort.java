package org.ep4j.tck.ranks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * A free TCP port of this machine, reserved for rank 0 of a group that is about to start: the kernel gives it to no other process while
 * this is open. The port is bound with {@code SO_REUSEADDR} and not listened at, so a server socket that sets this option, as those of
 * Java do, can bind to it, too (socket(7) of Linux).
 */
public final class ReservedPort implements AutoCloseable {
    private final Socket holder = new Socket();

    private ReservedPort() {}

    /** Reserves a free port. */
    public static ReservedPort reserve() {
        ReservedPort port = new ReservedPort();
        try {
            port.holder.setReuseAddress(true);
            port.holder.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            return port;
        } catch (IOException e) {
            port.close();
            throw new UncheckedIOException("no free port on the loopback interface", e);
        }
    }

    /** Returns the number of the port. */
    public int number() {
        return holder.getLocalPort();
    }

    /** Ends the reservation, once rank 0 listens. A second call does nothing. */
    @Override
    public void close() {
        try {
            holder.close();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot release a port", e);
        }
    }
}
