package org.ep4j.bootstrap;

import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.jspecify.annotations.Nullable;

/** A member whose others are reached through rank 0 over TCP. */
final class TcpBootstrap implements Bootstrap {
    private final Membership membership;
    private final Connection connection;
    private final GroupView view;
    private final @Nullable RendezvousServer server;
    private final AtomicBoolean closed = new AtomicBoolean();

    private TcpBootstrap(Membership membership, Connection connection, @Nullable RendezvousServer server) {
        this.membership = membership;
        this.connection = connection;
        this.view = new GroupView(membership, membership.root());
        this.server = server;
    }

    /** Joins; rank 0 opens the rendezvous first. Returns when all ranks are there. */
    static Bootstrap join(TcpSettings settings) {
        Deadline deadline = Deadline.in(settings.setupTimeout());
        return join(settings, settings.rank() == 0 ? RendezvousServer.start(settings) : null, deadline);
    }

    /** Joins, through {@code server} where it is this rank's own. */
    static Bootstrap join(TcpSettings settings, @Nullable RendezvousServer server, Deadline deadline) {
        boolean joined = false;
        try {
            List<InetAddress> own = server == null ? List.of() : server.addresses();
            int port = server == null ? settings.port() : server.port();
            Connection connection = new RendezvousClient(settings, own, port, deadline).connect();
            TcpLink link = new TcpLink(connection);
            try {
                Membership membership = new Membership(settings.rank(), settings.size(), link);
                link.start(membership);
                membership.meet(deadline);
                joined = true;
                return new TcpBootstrap(membership, connection, server);
            } finally {
                if (!joined) {
                    connection.close();
                }
            }
        } finally {
            if (!joined && server != null) {
                server.abandon();
            }
        }
    }

    @Override
    public int rank() {
        return view.rank();
    }

    @Override
    public int size() {
        return view.size();
    }

    @Override
    public List<byte[]> allGather(String tag, byte[] mine, Duration deadline) {
        return view.allGather(tag, mine, deadline);
    }

    @Override
    public MemberState state(int rank) {
        return view.state(rank);
    }

    @Override
    public long stateChanges() {
        return view.stateChanges();
    }

    @Override
    public Bootstrap subgroup(String name, List<Integer> ranks) {
        return view.subgroup(name, ranks);
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

    /** Breaks the connection without a farewell, as a crash does. */
    void cut() {
        connection.close();
    }

    @Override
    public String toString() {
        return view + " over TCP";
    }
}
