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

/** Bootstrap of a member that reaches the others over TCP, through the hub on rank 0. */
final class TcpBootstrap extends HubBootstrap {
    private final HubClient client;
    private final TcpLink link;
    private final @Nullable RendezvousServer server;
    private final AtomicBoolean closed = new AtomicBoolean();

    private TcpBootstrap(HubClient client, TcpLink link, @Nullable RendezvousServer server) {
        super(client, client.root());
        this.client = client;
        this.link = link;
        this.server = server;
    }

    /** Joins a rendezvous whose address and secret {@code launcher} broadcasts from rank 0. */
    static Bootstrap over(int rank, int size, Broadcast launcher, EpConfig config, NanoClock clock) {
        Deadline deadline = Deadline.in(EpKeys.SETUP_TIMEOUT.get(config), clock);
        return rank == 0 ? serve(size, launcher, config, deadline) : find(rank, size, launcher, config, deadline);
    }

    private static Bootstrap serve(int size, Broadcast launcher, EpConfig config, Deadline deadline) {
        // A random secret cannot be guessed, so one iteration is enough.
        Secret secret = Secret.of(HexFormat.of().formatHex(Handshake.nonce()), 1);
        int port = EpKeys.BOOTSTRAP_PORT.get(config);
        TcpSettings anywhere = TcpSettings.of(0, size, Rendezvous.hostName(), port, config, deadline.clock());
        ChosenInterfaces interfaces = anywhere.interfaces();
        Optional<InetAddress> own = interfaces.required() ? Optional.of(interfaces.first()) : Optional.empty();
        String host = own.map(InetAddress::getHostAddress).orElse(anywhere.host());
        TcpSettings settings = anywhere.with(host, 0, secret);
        RendezvousServer server = RendezvousServer.start(settings);
        try {
            byte[] where =
                    Rendezvous.here(server.port(), secret, own, interfaces).encode();
            launcher.fromRankZero(where, deadline.left());
        } catch (Throwable e) {
            // The launcher is the user's, so this may also be a checked exception that was not declared.
            server.abandon();
            throw e;
        }
        return join(settings, server, server.addresses(), deadline);
    }

    private static Bootstrap find(int rank, int size, Broadcast launcher, EpConfig config, Deadline deadline) {
        Rendezvous where = Rendezvous.parse(launcher.fromRankZero(new byte[0], deadline.left()));
        TcpSettings settings = TcpSettings.of(rank, size, where.host(), where.port(), config, deadline.clock())
                .with(where.host(), 0, where.secret());
        return join(settings, null, where.candidates(), deadline);
    }

    /** Joins; rank 0 opens the rendezvous first. Returns when all ranks have joined. */
    static Bootstrap join(TcpSettings settings) {
        Deadline deadline = settings.deadline(settings.setupTimeout());
        RendezvousServer server = settings.rank() == 0 ? RendezvousServer.start(settings) : null;
        return join(settings, server, server == null ? List.of() : server.addresses(), deadline);
    }

    /** Joins a rendezvous, which {@code server} is on rank 0, at one of {@code addresses} if there are any. */
    static Bootstrap join(
            TcpSettings settings, @Nullable RendezvousServer server, List<InetAddress> addresses, Deadline deadline) {
        int port = server == null ? settings.port() : server.port();
        try {
            TcpLink link =
                    new RendezvousClient(settings, addresses, port, deadline, RendezvousClient::connect).connect();
            try {
                HubClient member = new HubClient(settings.rank(), settings.size(), link, settings.clock());
                link.start(member);
                member.awaitSetup(deadline);
                return new TcpBootstrap(member, link, server);
            } catch (RuntimeException | Error e) {
                link.cut();
                throw e;
            }
        } catch (RuntimeException | Error e) {
            if (server != null) {
                server.abandon();
            }
            throw e;
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            client.close();
            if (server != null) {
                server.retire();
            }
        }
    }

    /** Number of records that arrived from rank 0, heartbeats included. */
    long received() {
        return link.received();
    }

    /** Closes the connection without leaving, as a crash does. */
    void cut() {
        link.cut();
    }

    @Override
    public String toString() {
        return super.toString() + " over TCP";
    }
}
