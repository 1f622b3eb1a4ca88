package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.config.EpKeys;
import org.ep4j.transport.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * The rendezvous on rank 0. A few threads serve all members and all handshakes. Each handshake has a deadline of its own, so a slow,
 * silent or foreign one delays no other. If there are too many at once, the oldest of those with the least progress is ended. The port
 * is closed once the group has formed.
 */
final class RendezvousServer implements Handshake.Owner {
    private static final Logger LOG = System.getLogger(RendezvousServer.class.getName());

    /** Handshakes at once beyond one for each rank. */
    static final int SPARE_HANDSHAKES = 128;

    private static final int MEMBERS_PER_LOOP = 64;

    private static final int MOST_LOOPS = 8;

    /** Longest wait for the last frames to be written at the end. */
    private static final Duration FLUSH = Duration.ofSeconds(1);

    /** Connections accepted in a row before other channels are served. */
    private static final int ACCEPTS = 64;

    /** Pause after the system failed to accept a connection. */
    private static final Duration PAUSE = Duration.ofMillis(100);

    private static final long STACK_BYTES = 256 << 10;

    private final TcpSettings settings;
    private final ServerSocketChannel listener;
    private final InetAddress address;
    private final int port;
    private final byte[] salt = Handshake.random(Secret.SALT_BYTES);
    private final byte[] secretKey;
    private final Hub hub;
    /** The first one also accepts connections. */
    private final List<IoLoop> loops = new ArrayList<>();

    private final RefusalLog refusals;
    private final CountDownLatch portIsFree = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);

    /** Used by the first loop alone. */
    private final Set<Handshake> handshakes = new LinkedHashSet<>();

    private volatile int handshakeCount;

    /** Handshakes that wait for their rank to become free. Guarded by this object, as the fields below. */
    private final Set<Handshake> waiting = new LinkedHashSet<>();

    private final Map<Integer, Connection> members = new HashMap<>();
    private final Map<Integer, Handshake> taken = new HashMap<>();
    private boolean over;

    private RendezvousServer(TcpSettings settings, ServerSocketChannel listener) {
        this.settings = settings;
        this.listener = listener;
        address = listener.socket().getInetAddress();
        port = listener.socket().getLocalPort();
        secretKey = settings.secret().key(salt, settings.secret().iterations());
        hub = new Hub(settings.size(), false, this::stopListening);
        refusals = new RefusalLog(LOG, settings.clock());
    }

    private void startLoops() {
        int most = Math.min(MOST_LOOPS, Math.max(1, Runtime.getRuntime().availableProcessors() / 2));
        for (int i = 0; i < Math.min(most, 1 + settings.size() / MEMBERS_PER_LOOP); i++) {
            loops.add(new IoLoop("ep4j-rendezvous-" + i, settings.clock()));
        }
    }

    /**
     * Listens.
     *
     * @throws org.ep4j.EpUnavailableException when the port is taken or the address is not of this machine
     * @throws org.ep4j.EpResourceException when there are no threads for it
     */
    static RendezvousServer start(TcpSettings settings) {
        ServerSocketChannel listener = new Listener(settings, InetAddress::getAllByName).open();
        RendezvousServer server = null;
        try {
            server = new RendezvousServer(settings, listener);
            server.startLoops();
            server.warnIfOpen();
            server.loops.get(0).register(listener, SelectionKey.OP_ACCEPT, server.new Acceptor());
            return server;
        } catch (RuntimeException | Error e) {
            Sockets.close(listener);
            if (server != null) {
                server.loops.forEach(IoLoop::close);
            }
            throw e;
        }
    }

    private void warnIfOpen() {
        boolean isLocal = address.isLoopbackAddress();
        if (settings.secret().isEmpty() && (!isLocal || LocalUsers.othersHaveProcesses())) {
            LOG.log(
                    Level.WARNING,
                    "the rendezvous at {0} port {1} has no secret"
                            + (isLocal
                                    ? ", and other users have processes on this machine: any of them"
                                    : ": every process that reaches it")
                            + " can join the group; set {2} on all ranks",
                    address.getHostAddress(),
                    Integer.toString(port),
                    EpKeys.BOOTSTRAP_SECRET.environmentName());
        }
    }

    int port() {
        return port;
    }

    /** Returns whether a process holds a rank. */
    synchronized boolean taken(int rank) {
        return taken.containsKey(rank);
    }

    /** Number of connections in their handshakes. */
    int handshakes() {
        return handshakeCount;
    }

    /** Members that have not joined yet. */
    List<Integer> missing() {
        return hub.missing();
    }

    /** Number of records that arrived from a member, heartbeats included. */
    synchronized long received(int rank) {
        Connection connection = members.get(rank);
        return connection == null ? 0 : connection.received();
    }

    /** Addresses to which rank 0's own member connects. */
    List<InetAddress> addresses() {
        return List.of(address.isAnyLocalAddress() ? InetAddress.getLoopbackAddress() : address);
    }

    /** Ends a rendezvous that did not succeed; members that wait learn which ones are missing. */
    void abandon() {
        hub.abandonSetup();
        end();
    }

    /**
     * Continues, after rank 0 has left, in a daemon thread until the others have left too, or the linger time is over. If the JVM
     * ends meanwhile, it waits for that, since the others' last gathers run through here.
     */
    void retire() {
        // No process can join any more, and the next job may need the port.
        freePort();
        Deadline deadline = settings.deadline(settings.linger());
        if (awaitEmpty(settings.deadline(Duration.ZERO))) {
            end();
            return;
        }
        Thread hook = new Thread(null, this::awaitEnded, "ep4j-rendezvous-exit", STACK_BYTES);
        boolean exiting = !addHook(hook);
        Runnable rest = () -> {
            awaitEmpty(deadline);
            end();
            if (!exiting) {
                removeHook(hook);
            }
        };
        try {
            Thread thread = new Thread(null, rest, "ep4j-rendezvous-linger", STACK_BYTES);
            thread.setDaemon(true);
            thread.start();
        } catch (OutOfMemoryError e) {
            LOG.log(
                    Level.WARNING,
                    "no thread could be started to wait for the other ranks, so close() itself waits for them",
                    e);
            rest.run();
            return;
        }
        if (exiting) {
            // The JVM is ending already and would not wait for a daemon thread.
            awaitEnded();
        }
    }

    private final class Acceptor implements IoLoop.ChannelHandler {
        private @Nullable SelectionKey key;
        private boolean paused;
        private long pausedUntil;

        @Override
        public void registered(SelectionKey itsKey) {
            key = itsKey;
        }

        @Override
        public void ready() {
            try {
                for (int i = 0; i < ACCEPTS; i++) {
                    SocketChannel channel = listener.accept();
                    if (channel == null) {
                        return;
                    }
                    admit(channel);
                }
            } catch (IOException | RuntimeException | OutOfMemoryError e) {
                if (pause()) {
                    refusals.refused("a connection", Sockets.describe(e));
                }
            }
        }

        /** Pauses: a connection that cannot be accepted would wake the thread again and again. Needs no memory. */
        private boolean pause() {
            if (!IoLoop.setInterest(key, 0)) {
                return false;
            }
            pausedUntil = settings.clock().nanoTime() + PAUSE.toNanos();
            paused = true;
            loops.get(0).wakeUp();
            return true;
        }

        @Override
        public long onTimer(long now) {
            if (paused && now - pausedUntil < 0) {
                return pausedUntil - now;
            }
            paused &= !IoLoop.setInterest(key, SelectionKey.OP_ACCEPT);
            return Long.MAX_VALUE / 4;
        }

        @Override
        public void failed(Throwable failure) {
            if (!pause()) {
                Sockets.close(listener);
            }
            LOG.log(Level.WARNING, "the rendezvous could not accept a connection", failure);
        }
    }

    private void admit(SocketChannel channel) {
        boolean served = false;
        try {
            channel.configureBlocking(false);
            channel.socket().setTcpNoDelay(true);
            Handshake handshake = new Handshake(channel, settings, secretKey, salt, this);
            if (handshakes.size() >= settings.size() + SPARE_HANDSHAKES) {
                makeRoom();
            }
            handshakes.add(handshake);
            handshakeCount = handshakes.size();
            loops.get(0).register(channel, SelectionKey.OP_READ, handshake);
            served = true;
        } catch (IOException e) {
            refusals.refused("a connection", Sockets.describe(e));
        } finally {
            if (!served) {
                Sockets.close(channel);
            }
        }
    }

    /**
     * Ends the handshake that is most likely foreign: of those with the least progress, the oldest. A rank identifies itself at once,
     * so silent connections cannot push it out.
     */
    private void makeRoom() {
        List<Handshake> all =
                handshakes.stream().filter(one -> !one.isIdentified()).toList();
        int least = Integer.MAX_VALUE;
        for (Handshake one : all) {
            if (one.progress() == 0) {
                // Its first message may have arrived since.
                one.tryReady();
            }
            if (one.progress() == 0 || one.isOver()) {
                least = 0;
                break;
            }
            least = Math.min(least, one.progress());
        }
        if (all.stream().anyMatch(Handshake::isOver)) {
            return;
        }
        for (Handshake one : all) {
            if (one.progress() == least) {
                one.failed(new IOException(
                        "there were too many handshakes at once, and this one had made the least progress"));
                return;
            }
        }
    }

    @Override
    public void identified(Handshake handshake) throws Handshake.RefusedException {
        try {
            if (reserve(handshake)) {
                handshake.accept();
            }
        } catch (IOException e) {
            handshake.failed(e);
        }
    }

    @Override
    public void ended(Handshake handshake, String why) {
        try {
            refusals.refused(handshake.remote(), why);
        } finally {
            release(handshake);
        }
    }

    @Override
    public void closed(Handshake handshake) {
        handshakes.remove(handshake);
        handshakeCount = handshakes.size();
    }

    /**
     * One member: turns its frames into calls of the hub, and calls of the hub into frames. A frame that cannot be queued ends the
     * connection of this member, without an effect on the hub or other members. The fields do not change, so there is no lock: the
     * thread of the loop calls the methods of the handler, and any thread that holds the monitor of the hub those of the inbox.
     */
    static final class Member implements Connection.Handler, Hub.Inbox {
        /** A constant, since there may be no memory for another text. */
        private static final String NOT_QUEUED =
                "rank 0 could not queue a message to the lost rank, probably because rank 0 ran out of memory";

        private final int rank;
        private final int size;
        private final Hub hub;
        private final Connection connection;
        private final Runnable onEnd;

        Member(int rank, int size, Hub hub, Connection connection, Runnable onEnd) {
            this.rank = rank;
            this.size = size;
            this.hub = hub;
            this.connection = connection;
            this.onEnd = onEnd;
        }

        @Override
        public void received(Frame frame) throws IOException {
            if (Wire.toHub(frame, rank, size, hub)) {
                connection.finish();
            }
        }

        @Override
        public void ended(String reason) {
            // In this order: if the first step fails, this is called again, and another attempt must not have joined by
            // then.
            hub.disconnected(rank, reason);
            onEnd.run();
        }

        @Override
        public void result(Hub.Result result) {
            try {
                for (Frame frame : result.frames()) {
                    connection.send(frame);
                }
            } catch (Throwable e) {
                // Some pieces may be queued; without the others the member would wait for ever.
                cut(e);
            }
        }

        @Override
        public void failed(String scope, String tag, GatherFailure failure) {
            try {
                connection.send(Wire.failed(scope, tag, failure));
            } catch (Throwable e) {
                cut(e);
            }
        }

        @Override
        public void memberGone(String scope, int member, MemberState state, String reason) {
            try {
                connection.send(Wire.memberGone(scope, member, state, reason));
            } catch (Throwable e) {
                cut(e);
            }
        }

        private void cut(Throwable e) {
            connection.close(NOT_QUEUED);
            if (!(e instanceof OutOfMemoryError)) {
                LOG.log(
                        Level.WARNING,
                        "cannot build or queue a rendezvous message for rank " + rank + "; its connection is closed",
                        e);
            }
        }
    }

    /**
     * Reserves a rank; returns false if it has to become free first. Then an earlier attempt of the same process holds it, which the
     * process has given up but whose connection is still open here; that attempt is ended.
     */
    private boolean reserve(Handshake handshake) throws Handshake.RefusedException {
        int rank = handshake.rank();
        Handshake holder;
        Connection connection;
        synchronized (this) {
            if (over) {
                handshake.close();
                return false;
            }
            if (hub.formed()) {
                throw new Handshake.RefusedException("the group has formed already, with another process as rank "
                        + rank + "; a rank cannot rejoin, so start the whole job again");
            }
            holder = taken.putIfAbsent(rank, handshake);
            if (holder == null) {
                return true;
            }
            boolean same = holder.isOfSameProcess(handshake);
            if (same && !handshake.isLaterThan(holder)) {
                // This attempt was delayed so long that the process has connected again.
                throw new Handshake.RefusedException("rank " + rank
                        + " has connected again in the meantime, in a later attempt of the same process");
            }
            if (!same) {
                throw new Handshake.RefusedException("rank " + rank + " is taken by the process at " + holder.remote()
                        + "; give every process a " + TcpSettings.RANK + " of its own");
            }
            waiting.add(handshake);
            connection = members.get(rank);
        }
        if (connection == null) {
            holder.failed(new IOException("the same process connected again"));
        } else {
            connection.close("the same process connected again");
        }
        return false;
    }

    @Override
    public void accepted(Handshake handshake) {
        closed(handshake);
        int rank = handshake.rank();
        IoLoop loop = loops.get(rank % loops.size());
        if (loop != loops.get(0)) {
            loops.get(0).forget(handshake.channel());
        }
        Connection connection = new Connection(handshake.channel(), loop, handshake.session(), settings.clock());
        Member member = new Member(rank, settings.size(), hub, connection, () -> release(handshake));
        synchronized (this) {
            if (over) {
                // No loop serves it yet.
                Sockets.close(handshake.channel());
                return;
            }
            members.put(rank, connection);
        }
        try {
            hub.attach(rank, member);
            connection.start(member);
        } catch (RuntimeException | Error e) {
            hub.disconnected(rank, "rank 0 ran out of memory when rank " + rank + " joined");
            throw e;
        }
    }

    /** Frees the rank of a process that disconnected before the group has formed. */
    private void release(Handshake handshake) {
        synchronized (this) {
            waiting.remove(handshake);
            if (!taken.containsValue(handshake)) {
                return;
            }
            // The connection has buffers, so it is not kept for the life of the job.
            members.remove(handshake.rank());
            if (hub.formed()) {
                return;
            }
            taken.values().remove(handshake);
        }
        loops.get(0).execute(() -> retry(handshake.rank()));
    }

    private void retry(int rank) {
        List<Handshake> again;
        synchronized (this) {
            again = waiting.stream().filter(one -> one.rank() == rank).toList();
            again.forEach(waiting::remove);
        }
        again.forEach(Handshake::identifyAgain);
    }

    private void end() {
        List<Connection> open;
        synchronized (this) {
            over = true;
            open = List.copyOf(members.values());
        }
        freePort();
        open.forEach(Connection::finish);
        Deadline deadline = settings.deadline(FLUSH);
        open.forEach(connection -> connection.awaitFinished(deadline));
        // A member closes its side once it has read everything; one that does not is cut off after the time of silence.
        loops.forEach(IoLoop::closeWhenIdle);
        ended.countDown();
    }

    /** Closes the port soon, and ends all handshakes. */
    private void stopListening() {
        loops.get(0).execute(() -> {
            try {
                loops.get(0).closeNow(listener);
                List.copyOf(handshakes).forEach(Handshake::close);
                synchronized (this) {
                    waiting.clear();
                }
                refusals.sumUp();
            } catch (IOException e) {
                LOG.log(
                        Level.WARNING,
                        "the port {0} may not be free yet: {1}",
                        Integer.toString(port),
                        Sockets.describe(e));
            } finally {
                portIsFree.countDown();
            }
        });
    }

    private void freePort() {
        stopListening();
        if (!settings.deadline(FLUSH).awaitThroughInterrupts(portIsFree)) {
            LOG.log(Level.WARNING, "the port {0} may not be free yet", Integer.toString(port));
        }
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
            // The JVM is ending, and the hook runs.
            LOG.log(Level.TRACE, "the JVM is ending");
        }
    }
}
