package org.ep4j.bootstrap;

import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.spi.Bootstrap;
import org.jspecify.annotations.Nullable;

/** A member whose others are reached through rank 0 over TCP. */
final class TcpBootstrap extends GroupView {
    private final Membership membership;
    private final TcpLink link;
    private final @Nullable RendezvousServer server;
    private final AtomicBoolean closed = new AtomicBoolean();

    private TcpBootstrap(Membership membership, TcpLink link, @Nullable RendezvousServer server) {
        super(membership, membership.root());
        this.membership = membership;
        this.link = link;
        this.server = server;
    }

    /** Joins; rank 0 opens the rendezvous first. Returns when all ranks are there. */
    static Bootstrap join(TcpSettings settings) {
        Deadline deadline = settings.deadline(settings.setupTimeout());
        return join(settings, settings.rank() == 0 ? RendezvousServer.start(settings) : null, deadline);
    }

    /** Joins, through {@code server} where it is this rank's own. */
    static Bootstrap join(TcpSettings settings, @Nullable RendezvousServer server, Deadline deadline) {
        List<InetAddress> own = server == null ? List.of() : server.addresses();
        int port = server == null ? settings.port() : server.port();
        return join(settings, server, new RendezvousClient(settings, own, port, deadline), deadline);
    }

    /** Joins a rendezvous that is known to be at one of {@code addresses}. */
    static Bootstrap join(TcpSettings settings, List<InetAddress> addresses, Deadline deadline) {
        return join(settings, null, new RendezvousClient(settings, addresses, settings.port(), deadline), deadline);
    }

    private static Bootstrap join(
            TcpSettings settings, @Nullable RendezvousServer server, RendezvousClient client, Deadline deadline) {
        boolean joined = false;
        try {
            TcpLink link = client.connect();
            try {
                Membership membership = new Membership(settings.rank(), settings.size(), link, settings.clock());
                link.start(membership);
                membership.meet(deadline);
                joined = true;
                return new TcpBootstrap(membership, link, server);
            } finally {
                if (!joined) {
                    link.cut();
                }
            }
        } finally {
            if (!joined && server != null) {
                server.abandon();
            }
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            membership.close();
            if (server != null) {
                server.retire();
            }
        }
    }

    /** How often something arrived from rank 0, heartbeats too. */
    long received() {
        return link.received();
    }

    /** Breaks the connection without a farewell, as a crash does. */
    void cut() {
        link.cut();
    }

    @Override
    public String toString() {
        return super.toString() + " over TCP";
    }
}
