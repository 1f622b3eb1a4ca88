package org.ep4j.bootstrap;

import java.net.InetAddress;
import java.util.HexFormat;
import java.util.Optional;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.NanoClock;
import org.ep4j.spi.WireUp;

/** Joins over TCP where a {@link WireUp} tells the ranks where to meet. */
final class WiredUp {
    private WiredUp() {}

    static Bootstrap join(int rank, int size, WireUp wireUp, EpConfig config, NanoClock clock) {
        Deadline deadline = Deadline.in(config.get(EpKeys.SETUP_TIMEOUT), clock);
        return rank == 0 ? serve(size, wireUp, config, deadline) : find(rank, size, wireUp, config, deadline);
    }

    private static Bootstrap serve(int size, WireUp wireUp, EpConfig config, Deadline deadline) {
        // Nobody can guess it, so one iteration is enough.
        Secret secret = Secret.of(HexFormat.of().formatHex(Proof.nonce()), 1);
        int port = config.get(EpKeys.BOOTSTRAP_PORT);
        TcpSettings anywhere = TcpSettings.of(0, size, Rendezvous.hostName(), port, config, deadline.clock())
                .withSecret(secret);
        ChosenInterfaces interfaces = anywhere.interfaces();
        Optional<InetAddress> own = interfaces.required() ? Optional.of(interfaces.first()) : Optional.empty();
        TcpSettings settings =
                own.map(address -> anywhere.withHost(address.getHostAddress())).orElse(anywhere);
        RendezvousServer server = RendezvousServer.start(settings);
        boolean told = false;
        try {
            byte[] where =
                    Rendezvous.here(server.port(), secret, own, interfaces).encode();
            wireUp.share(Optional.of(where), deadline.remaining());
            told = true;
        } finally {
            if (!told) {
                server.abandon();
            }
        }
        return TcpBootstrap.join(settings, server, deadline);
    }

    private static Bootstrap find(int rank, int size, WireUp wireUp, EpConfig config, Deadline deadline) {
        Rendezvous where = Rendezvous.parse(wireUp.share(Optional.empty(), deadline.remaining()));
        TcpSettings settings = TcpSettings.of(rank, size, where.host(), where.port(), config, deadline.clock())
                .withSecret(where.secret());
        return TcpBootstrap.join(settings, where.candidates(), deadline);
    }
}
