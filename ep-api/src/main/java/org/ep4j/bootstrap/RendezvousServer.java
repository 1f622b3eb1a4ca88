package org.ep4j.bootstrap;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.ep4j.config.EpKeys;

/**
 * The rendezvous on rank 0. Every handshake has a thread and a deadline of its own, so whoever is slow, silent or a stranger
 * keeps nobody else out; where there are too many at once, the oldest gives way.
 */
final class RendezvousServer {
    private static final Logger LOG = System.getLogger(RendezvousServer.class.getName());

    /** Handshakes at once beyond one for each rank. */
    static final int SPARE_HANDSHAKES = 32;

    /** Longest wait for the last frames to be written at the end. */
    private static final Duration FLUSH = Duration.ofSeconds(1);

    private static final long STACK_BYTES = 256 << 10;

    private final TcpSettings settings;
    private final ServerSocket listener;
    private final Hub hub;
    private final Set<Socket> handshakes = new LinkedHashSet<>();
    private final Map<Integer, Connection> members = new HashMap<>();
    private final Map<Integer, ServerHandshake> taken = new HashMap<>();
    private final CountDownLatch accepting = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private boolean over;

    private RendezvousServer(TcpSettings settings, ServerSocket listener) {
        this.settings = settings;
        this.listener = listener;
        this.hub = new Hub(settings.size(), false);
    }

    /**
     * Listens.
     *
     * @throws org.ep4j.EpUnavailableException when the port is taken or the address is not of this machine
     */
    static RendezvousServer start(TcpSettings settings) {
        RendezvousServer server = new RendezvousServer(settings, Listener.open(settings));
        InetAddress address = server.listener.getInetAddress();
        if (settings.secret().isEmpty() && !address.isLoopbackAddress()) {
            LOG.log(
                    Level.WARNING,
                    "the rendezvous at {0} port {1} has no secret: whoever reaches it can join the group; set {2} on all ranks",
                    address.getHostAddress(),
                    Integer.toString(server.port()),
                    EpKeys.BOOTSTRAP_SECRET.environmentName());
        }
        server.daemon("ep4j-rendezvous-accept", server::acceptAll);
        return server;
    }

    int port() {
        return listener.getLocalPort();
    }

    /** True while a process holds a rank. */
    synchronized boolean taken(int rank) {
        return taken.containsKey(rank);
    }

    /** Connections that are in their handshakes. */
    int handshakes() {
        synchronized (handshakes) {
            return handshakes.size();
        }
    }

    /** Members that the start still waits for. */
    List<Integer> missing() {
        return hub.missing();
    }

    /** How often something arrived from a member, signs of life too. */
    synchronized long received(int rank) {
        Connection connection = members.get(rank);
        return connection == null ? 0 : connection.received();
    }

    /** Where rank 0's own member connects. */
    List<InetAddress> addresses() {
        InetAddress address = listener.getInetAddress();
        return List.of(address.isAnyLocalAddress() ? InetAddress.getLoopbackAddress() : address);
    }

    /** Ends a rendezvous that did not come about; those who wait are told who is missing. */
    void abandon() {
        hub.abandonSetup();
        end();
    }

    /**
     * Called when rank 0 has left: goes on in a daemon thread until the others have left too, or the linger time is over.
     * Should the JVM end meanwhile, it waits for that, since the others' last gathers run through here.
     */
    void retire() {
        // Nobody can join any more, and the port may be wanted for the next job.
        stopListening();
        Deadline deadline = settings.deadline(settings.linger());
        if (awaitEmpty(settings.deadline(Duration.ZERO))) {
            end();
            return;
        }
        Thread hook = new Thread(null, this::awaitEnded, "ep4j-rendezvous-exit", STACK_BYTES);
        boolean exiting = !addHook(hook);
        daemon("ep4j-rendezvous-linger", () -> {
            awaitEmpty(deadline);
            end();
            if (!exiting) {
                removeHook(hook);
            }
        });
        if (exiting) {
            // The JVM is on its way out already and would not wait for a daemon thread.
            awaitEnded();
        }
    }

    private void acceptAll() {
        while (!listener.isClosed()) {
            try {
                Socket socket = listener.accept();
                if (listener.isClosed()) {
                    // It came while the port was being closed; to it the port was closed already.
                    Sockets.close(socket);
                    break;
                }
                Deadline deadline = settings.deadline(settings.handshake());
                admitHandshake(socket);
                daemon("ep4j-rendezvous-handshake", () -> handshake(socket, deadline));
            } catch (IOException e) {
                if (!listener.isClosed()) {
                    LOG.log(Level.WARNING, "the rendezvous could not accept a connection: {0}", e.getMessage());
                    pause();
                }
            }
        }
        accepting.countDown();
    }

    private void admitHandshake(Socket socket) {
        synchronized (handshakes) {
            if (handshakes.size() >= settings.size() + SPARE_HANDSHAKES) {
                Iterator<Socket> oldest = handshakes.iterator();
                Sockets.close(oldest.next());
                oldest.remove();
            }
            handshakes.add(socket);
        }
    }

    private void handshake(Socket socket, Deadline deadline) {
        String who = socket.getRemoteSocketAddress().toString();
        boolean kept = false;
        try {
            socket.setTcpNoDelay(true);
            ServerHandshake handshake = new ServerHandshake(socket, settings, deadline);
            int rank = handshake.identify();
            leaveQueue(socket);
            reserve(rank, handshake);
            kept = join(rank, handshake, socket);
        } catch (ServerHandshake.RefusedException e) {
            refused(who, Sockets.describe(e));
            tell(socket, Sockets.describe(e), deadline);
        } catch (SocketTimeoutException e) {
            refused(
                    who,
                    "its handshake was not done after " + settings.handshake().toSeconds() + " s");
        } catch (IOException e) {
            if (!listener.isClosed()) {
                refused(who, socket.isClosed() ? "it waited while too many others came" : Sockets.describe(e));
            }
        } finally {
            synchronized (handshakes) {
                handshakes.remove(socket);
            }
            if (!kept) {
                Sockets.close(socket);
            }
        }
    }

    /** From here on a handshake is no longer pushed out by others. */
    private void leaveQueue(Socket socket) throws IOException {
        synchronized (handshakes) {
            if (!handshakes.remove(socket)) {
                throw new SocketException("closed");
            }
        }
    }

    /**
     * Takes a rank. First ends an earlier attempt of the same process, which has given up on it but whose connection may still look
     * open here.
     */
    private synchronized void reserve(int rank, ServerHandshake handshake)
            throws ServerHandshake.RefusedException, IOException {
        while (!over) {
            if (hub.formed()) {
                throw new ServerHandshake.RefusedException("the group has formed already, with another process as rank "
                        + rank + "; a rank cannot come back, start the whole job again");
            }
            ServerHandshake holder = taken.putIfAbsent(rank, handshake);
            if (holder == null) {
                return;
            }
            if (!holder.isOfSameProcess(handshake)) {
                throw new ServerHandshake.RefusedException("rank " + rank + " is taken by the process at "
                        + holder.socket().getRemoteSocketAddress() + "; give every process a " + TcpSettings.RANK
                        + " of its own");
            }
            Sockets.close(holder.socket());
            if (handshake.deadline().passed()) {
                throw new SocketTimeoutException("an earlier attempt of this process did not end");
            }
            try {
                wait(handshake.deadline().sleepMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted");
            }
        }
        throw new SocketException("closed");
    }

    private boolean join(int rank, ServerHandshake handshake, Socket socket) {
        String name = "ep4j-rendezvous-" + rank;
        Connection connection =
                new Connection(socket, name, settings.heartbeat(), settings.silence(), settings.clock());
        try {
            handshake.accept();
        } catch (IOException e) {
            release(rank);
            refused(socket.getRemoteSocketAddress().toString(), Sockets.describe(e));
            return false;
        }
        ServerMember member = new ServerMember(rank, settings.size(), hub, connection, () -> release(rank));
        synchronized (this) {
            if (over) {
                return false;
            }
            members.put(rank, connection);
            hub.attach(rank, member);
        }
        connection.start(member);
        return true;
    }

    /** Lets a process that went before the group formed come again. */
    private synchronized void release(int rank) {
        if (!hub.formed()) {
            taken.remove(rank);
            members.remove(rank);
            notifyAll();
        }
    }

    private void end() {
        stopListening();
        synchronized (handshakes) {
            handshakes.forEach(Sockets::close);
        }
        List<Connection> open;
        synchronized (this) {
            over = true;
            notifyAll();
            open = List.copyOf(members.values());
        }
        open.forEach(Connection::finish);
        Deadline deadline = settings.deadline(FLUSH);
        open.forEach(connection -> connection.awaitFinished(deadline));
        // A member closes its side once it has read everything; one that does not is cut off by its silence.
        ended.countDown();
    }

    /** Closes the port; the system frees it when the accepting thread has come out of its call. */
    private void stopListening() {
        Sockets.close(listener);
        settings.deadline(FLUSH).awaitThroughInterrupts(accepting);
    }

    private boolean awaitEmpty(Deadline deadline) {
        try {
            return hub.awaitEmpty(deadline);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Waits for the end of the linger time and of what follows it. */
    private void awaitEnded() {
        settings.deadline(settings.linger().plus(FLUSH.multipliedBy(2))).awaitThroughInterrupts(ended);
    }

    private void tell(Socket socket, String text, Deadline deadline) {
        try {
            Reply.refused(text).write(socket);
            Sockets.drain(socket, Reply.MAX_BODY, deadline);
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "a refused process did not wait for the reason: {0}", e.getMessage());
        }
    }

    private static void refused(String who, String why) {
        LOG.log(Level.WARNING, "the rendezvous refused {0}: {1}", who, why);
    }

    private static boolean addHook(Thread hook) {
        try {
            Runtime.getRuntime().addShutdownHook(hook);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is on its way out and the hook runs; it ends by itself.
            LOG.log(Level.TRACE, "the JVM is ending");
        }
    }

    private static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void daemon(String name, Runnable work) {
        Thread thread = new Thread(null, work, name, STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }
}
