package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.Deadline;

/** Connects a member to rank 0, which may start later. */
final class RendezvousClient {
    /** Longest time to connect, and of the first handshake; each one has twice the time of the one before. */
    private static final Duration LONGEST = Duration.ofSeconds(5);

    /** Longest time to connect from a preferred address, before others are tried. */
    private static final Duration PREFERRED = Duration.ofSeconds(1);

    private static final int FIRST_PAUSE_MILLIS = 20;
    private static final int LONGEST_PAUSE_MILLIS = 1000;

    private final TcpSettings settings;
    private final List<InetAddress> fixed;
    private final int port;
    private final Deadline deadline;
    private final Connector connector;
    private final byte[] process = Handshake.nonce();
    private byte[] salt = new byte[0];
    private int iterations;
    private byte[] secretKey = new byte[0];
    private String lastError = "nothing was tried";
    private int attempts;

    /** Creates a client that uses {@code fixed} addresses or, if there are none, looks the host up before every attempt. */
    RendezvousClient(TcpSettings settings, List<InetAddress> fixed, int port, Deadline deadline, Connector connector) {
        this.settings = settings;
        this.fixed = List.copyOf(fixed);
        this.port = port;
        this.deadline = deadline;
        this.connector = connector;
    }

    /** Connects a socket, from an address if there is one. */
    @FunctionalInterface
    interface Connector {
        void connect(Socket socket, Optional<InetAddress> from, InetSocketAddress to, int millis) throws IOException;
    }

    static void connect(Socket socket, Optional<InetAddress> from, InetSocketAddress to, int millis)
            throws IOException {
        if (from.isPresent()) {
            socket.bind(new InetSocketAddress(from.get(), 0));
        }
        socket.connect(to, millis);
    }

    /**
     * Tries until a handshake succeeds.
     *
     * @throws EpUnavailableException when rank 0 refused
     * @throws EpTimeoutException when the deadline passed; names the error of the last attempt
     */
    TcpLink connect() {
        int pause = FIRST_PAUSE_MILLIS;
        Duration handshake = LONGEST;
        boolean listening = false;
        while (!deadline.passed()) {
            boolean refused = false;
            for (Attempt attempt : attempts()) {
                if (deadline.passed()) {
                    break;
                }
                attempts++;
                boolean cut = deadline.remainingNanos() < handshake.toNanos();
                boolean connected = false;
                SocketChannel channel = null;
                boolean kept = false;
                try {
                    channel = SocketChannel.open();
                    Socket socket = channel.socket();
                    connector.connect(
                            socket,
                            attempt.from(),
                            new InetSocketAddress(attempt.to(), port),
                            deadline.atMost(attempt.longest()).remainingMillis());
                    connected = true;
                    if (refused && !listening) {
                        // Rank 0 may have begun to listen just now: try the address again that was refused.
                        listening = true;
                        break;
                    }
                    socket.setTcpNoDelay(true);
                    Connection.Session session = Handshake.join(
                            socket, settings, process, attempts, this::secretKey, deadline.atMost(handshake));
                    TcpLink link = new TcpLink(channel, session, settings);
                    kept = true;
                    return link;
                } catch (SocketTimeoutException e) {
                    if (connected && handshake.compareTo(settings.handshake()) < 0) {
                        handshake = handshake.multipliedBy(2);
                    }
                    // The error of an attempt that only the overall deadline cut short says less than the one before.
                    if (!cut || attempts == 1) {
                        lastError = attempt.text(port) + ": " + Sockets.describe(e);
                    }
                } catch (IOException e) {
                    refused |= e instanceof ConnectException && attempt.from().isPresent();
                    lastError = attempt.text(port) + ": " + Sockets.describe(e);
                } finally {
                    if (!kept && channel != null) {
                        Sockets.close(channel);
                    }
                }
            }
            sleep(pause);
            pause = Math.min(LONGEST_PAUSE_MILLIS, pause * 2);
        }
        throw new EpTimeoutException(
                "rank " + settings.rank() + " could not connect to rank 0 at " + settings.host() + ":" + port + " in "
                        + deadline.elapsed() + " and " + attempts + " attempts; the last ended with: " + lastError
                        + "; check that rank 0 runs, "
                        + (fixed.isEmpty()
                                ? "that " + TcpSettings.MASTER_ADDR + " and " + TcpSettings.MASTER_PORT + " are right, "
                                : "")
                        + "and that no firewall is in the way; a group that has formed accepts no more ranks",
                EpFailure.builder("rendezvous connect", 0)
                        .host(settings.host())
                        .expected(1)
                        .build(),
                EpException.Recourse.REJOIN);
    }

    /** Derives the key once for each rendezvous, not for each attempt. */
    private byte[] secretKey(byte[] itsSalt, int itsIterations) {
        if (secretKey.length == 0 || iterations != itsIterations || !Arrays.equals(salt, itsSalt)) {
            salt = itsSalt.clone();
            iterations = itsIterations;
            secretKey = settings.secret().key(salt, iterations);
        }
        return secretKey;
    }

    /** One attempt to connect to an address of rank 0, from an address of this rank or, if empty, one that the system chooses. */
    private record Attempt(InetAddress to, Optional<InetAddress> from, Duration longest) {
        private String text(int port) {
            return to.getHostAddress() + " port " + port
                    + from.map(address -> " from " + address.getHostAddress()).orElse("");
        }
    }

    private List<Attempt> attempts() {
        ChosenInterfaces interfaces = settings.interfaces();
        boolean exact = fixed.isEmpty() && settings.hostIsExact();
        List<Attempt> all = new ArrayList<>();
        for (InetAddress to : interfaces.reachable(addresses(), exact)) {
            List<Optional<InetAddress>> ends = interfaces.localEnds(to);
            // A preferred address gets less time, if others follow.
            ends.forEach(from ->
                    all.add(new Attempt(to, from, ends.size() > 1 && from.isPresent() ? PREFERRED : LONGEST)));
        }
        return all;
    }

    private List<InetAddress> addresses() {
        if (!fixed.isEmpty()) {
            return fixed;
        }
        try {
            return List.of(InetAddress.getAllByName(settings.host()));
        } catch (UnknownHostException e) {
            attempts++;
            lastError = "the name " + settings.host() + " has no address (" + e.getMessage() + ")";
            return List.of();
        }
    }

    /** Sleeps for a random time, so that many ranks do not connect at the same times. */
    private void sleep(int pause) {
        long millis = ThreadLocalRandom.current().nextLong(pause / 2, pause + 1L);
        try {
            Thread.sleep(Math.max(0, Math.min(millis, deadline.remainingNanos() / 1_000_000)));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpException("interrupted while connecting to rank 0", e);
        }
    }
}
