package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.ep4j.EpUnavailableException;

/** Connects to the ports at which members of a standing group listen for each other. */
final class MemberDialer {
    /** What became of an attempt to reach a member. */
    enum Outcome {
        /** The handshake is done. */
        OPEN,
        /** Nothing of this group listens at its address: its process has ended. */
        GONE,
        /** It did not answer: it stands still, its machine or the way there is gone, or a packet was lost. */
        SILENT,
        /** This process can open no socket now. */
        NO_SOCKET
    }

    /** Longest wait for a connection, which takes that long only when the machine is gone or the first packets were lost. */
    private static final Duration CONNECT = Duration.ofSeconds(3);

    /** The same at a machine that has not answered before: ranks of one machine mostly go together. */
    private static final Duration CONNECT_AGAIN = Duration.ofMillis(300);

    private final int rank;
    private final int size;
    private final byte[] key;
    private final byte[] process = Keys.random(Keys.BYTES);
    private final InetAddress rankZero;
    private final Reactor reactor;
    private final Terms terms;

    /** Machines at which the last attempt to connect was not answered. */
    private final Set<InetAddress> unanswered = ConcurrentHashMap.newKeySet();

    /** A dialer of a member that knows rank 0's machine by {@code rankZero}. */
    MemberDialer(int rank, int size, byte[] key, InetAddress rankZero, Reactor reactor, Terms terms) {
        this.rank = rank;
        this.size = size;
        this.key = key;
        this.rankZero = rankZero;
        this.reactor = reactor;
        this.terms = terms;
    }

    /**
     * Connects, and passes the connection on after the handshake.
     *
     * @param answer longest wait for the handshake
     */
    Outcome dial(int member, PeerAddress where, Duration answer, Consumer<Connection> onOpen) {
        SocketChannel socket;
        try {
            socket = SocketChannel.open();
        } catch (IOException e) {
            reactor.log()
                    .warn("no socket for a connection to rank " + member + " (" + Sockets.describe(e)
                            + "); allow more open files");
            return Outcome.NO_SOCKET;
        }
        boolean kept = false;
        try {
            InetSocketAddress target = where.from(rankZero);
            connect(socket, target);
            socket.socket().setTcpNoDelay(true);
            ClientHandshake handshake =
                    new ClientHandshake(rank, size, true, "rank " + member + ", " + target, salt -> key, process);
            ClientHandshake.Accepted accepted =
                    handshake.ask(socket.socket(), Deadline.in(answer).atMost(terms.silence()));
            onOpen.accept(connection(socket, accepted.session()));
            kept = true;
            return Outcome.OPEN;
        } catch (ConnectException | EpUnavailableException e) {
            // Refused by the machine, or by a process that is not of this group.
            return Outcome.GONE;
        } catch (IOException e) {
            return Outcome.SILENT;
        } finally {
            if (!kept) {
                Sockets.close(socket);
            }
        }
    }

    private void connect(SocketChannel socket, InetSocketAddress target) throws IOException {
        InetAddress machine = target.getAddress();
        Duration limit = unanswered.contains(machine) ? CONNECT_AGAIN : CONNECT;
        try {
            socket.socket()
                    .connect(target, Deadline.in(limit).atMost(terms.silence()).remainingMillis());
            unanswered.remove(machine);
        } catch (SocketTimeoutException e) {
            unanswered.add(machine);
            throw e;
        } catch (ConnectException e) {
            unanswered.remove(machine);
            throw e;
        }
    }

    /** The sealed connection of a handshake that this member began; not started. */
    Connection connection(SocketChannel socket, Session session) throws IOException {
        socket.configureBlocking(false);
        return new Connection(reactor, socket, session.down(), session.up(), terms);
    }
}
