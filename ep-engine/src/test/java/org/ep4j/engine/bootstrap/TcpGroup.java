package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.ep4j.Bootstrap;
import org.ep4j.transport.NanoClock;

/** Makes groups over TCP inside the test's JVM, on ports that were free. */
final class TcpGroup {
    private static final String HOST = "127.0.0.1";

    /** A random key, which rank processes do not stretch. */
    static final String SECRET_TEXT = "5e1c0de6b1a7f3d2".repeat(4);

    /** Derives its keys with few iterations, since tests make many groups. */
    private static final Secret SECRET = Secret.of(SECRET_TEXT, 10);

    /** When a silent member is lost, and how long rank 0 serves the others after its end. */
    static final Duration NEVER = Duration.ofMinutes(10);

    /** Below those of {@code net.ipv4.ip_local_port_range}, which begins at 32768 by default. */
    private static final int FIRST_PORT = 20_000;

    private static final int LAST_PORT = 32_000;
    private static final int PORT_TRIES = 100;

    private TcpGroup() {}

    /** Settings under which nothing takes too long, since time stands still unless the test advances it. */
    static TcpSettings settings(int rank, int size, int port) {
        return new TcpSettings(
                rank,
                size,
                HOST,
                0,
                port,
                ChosenInterfaces.NONE,
                SECRET,
                Ranks.LONG,
                Duration.ofMillis(200),
                NEVER,
                NEVER,
                new TestClock());
    }

    static TcpSettings secret(TcpSettings s, String secret) {
        return copy(s, s.rank(), s.host(), s.port(), Secret.of(secret, 10), s.setupTimeout(), s.linger(), s.clock());
    }

    static TcpSettings timeout(TcpSettings s, Duration timeout) {
        return copy(s, s.rank(), s.host(), s.port(), s.secret(), timeout, s.linger(), s.clock());
    }

    static TcpSettings clock(TcpSettings s, NanoClock clock) {
        return copy(s, s.rank(), s.host(), s.port(), s.secret(), s.setupTimeout(), s.linger(), clock);
    }

    static TcpSettings linger(TcpSettings s, Duration linger) {
        return copy(s, s.rank(), s.host(), s.port(), s.secret(), s.setupTimeout(), linger, s.clock());
    }

    static TcpSettings host(TcpSettings s, String host) {
        return copy(s, s.rank(), host, s.port(), s.secret(), s.setupTimeout(), s.linger(), s.clock());
    }

    static TcpSettings interfaces(TcpSettings s, ChosenInterfaces interfaces) {
        return new TcpSettings(
                s.rank(),
                s.size(),
                s.host(),
                s.storePort(),
                s.port(),
                interfaces,
                s.secret(),
                s.setupTimeout(),
                s.heartbeat(),
                s.silence(),
                s.linger(),
                s.clock());
    }

    /** All members, formed. */
    static List<Bootstrap> form(int size) {
        return form(settings(0, size, 0));
    }

    /** All members, with the settings of rank 0 for each. */
    static List<Bootstrap> form(TcpSettings zero) {
        RendezvousServer server = RendezvousServer.start(zero);
        try (Ranks ranks = new Ranks()) {
            return ranks.all(zero.size(), rank -> join(rank(zero, rank, server.port()), rank == 0 ? server : null));
        }
    }

    static TcpSettings rank(TcpSettings s, int rank, int port) {
        return copy(s, rank, s.host(), port, s.secret(), s.setupTimeout(), s.linger(), s.clock());
    }

    private static TcpSettings copy(
            TcpSettings s,
            int rank,
            String host,
            int port,
            Secret secret,
            Duration setupTimeout,
            Duration linger,
            NanoClock clock) {
        return new TcpSettings(
                rank,
                s.size(),
                host,
                s.storePort(),
                port,
                s.interfaces(),
                secret,
                setupTimeout,
                s.heartbeat(),
                s.silence(),
                linger,
                clock);
    }

    static Bootstrap join(TcpSettings settings, RendezvousServer server) {
        List<InetAddress> own = server == null ? List.of() : server.addresses();
        return TcpBootstrap.join(settings, server, own, settings.deadline(settings.setupTimeout()));
    }

    /** A plain connection, for strangers. */
    static Socket connect(int port) throws IOException {
        Socket socket = new Socket();
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), (int) Ranks.LONG.toMillis());
        socket.setSoTimeout((int) Ranks.LONG.toMillis());
        return socket;
    }

    /** True if somebody listens on the port. */
    static boolean accepts(int port) {
        try (Socket socket = connect(port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * A free port, for processes that must know it before rank 0 has it. It is none of those that Linux gives to sockets which name no port:
     * another socket could be given it meanwhile.
     */
    static int freePort() throws IOException {
        BindException inUse = new BindException("no port was tried");
        for (int tries = 0; tries < PORT_TRIES; tries++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST_PORT, LAST_PORT);
            try (ServerSocket socket = new ServerSocket(port)) {
                return socket.getLocalPort();
            } catch (BindException e) {
                inUse = e;
            }
        }
        throw inUse;
    }
}
