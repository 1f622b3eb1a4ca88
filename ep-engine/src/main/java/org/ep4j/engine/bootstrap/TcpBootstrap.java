package org.ep4j.engine.bootstrap;

import java.net.InetAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
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

    /** Joins a rendezvous whose address and secret {@code launcher} carries from rank 0 to the other ranks. */
    static Bootstrap over(int rank, int size, Broadcast launcher, EpConfig config, NanoClock clock) {
        Deadline deadline = Deadline.in(EpKeys.SETUP_TIMEOUT.get(config), clock);
        return rank == 0 ? serve(size, launcher, config, deadline) : find(rank, size, launcher, config, deadline);
    }

    private static Bootstrap serve(int size, Broadcast launcher, EpConfig config, Deadline deadline) {
        // Nobody can guess it, so one iteration is enough.
        Secret secret = Secret.of(HexFormat.of().formatHex(Handshake.nonce()), 1);
        int port = EpKeys.BOOTSTRAP_PORT.get(config);
        TcpSettings anywhere = TcpSettings.of(0, size, Rendezvous.hostName(), port, config, deadline.clock())
                .withSecret(secret);
        ChosenInterfaces interfaces = anywhere.interfaces();
        Optional<InetAddress> own = interfaces.required() ? Optional.of(interfaces.first()) : Optional.empty();
        TcpSettings settings =
                own.map(address -> anywhere.withHost(address.getHostAddress())).orElse(anywhere);
        RendezvousServer server = RendezvousServer.start(settings);
        boolean shared = false;
        try {
            byte[] where =
                    Rendezvous.here(server.port(), secret, own, interfaces).encode();
            launcher.fromRankZero(where, deadline.left());
            shared = true;
        } finally {
            if (!shared) {
                server.abandon();
            }
        }
        return join(settings, server, deadline);
    }

    private static Bootstrap find(int rank, int size, Broadcast launcher, EpConfig config, Deadline deadline) {
        Rendezvous where = Rendezvous.parse(launcher.fromRankZero(new byte[0], deadline.left()));
        TcpSettings settings = TcpSettings.of(rank, size, where.host(), where.port(), config, deadline.clock())
                .withSecret(where.secret());
        return join(settings, where.candidates(), deadline);
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
