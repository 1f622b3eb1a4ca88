package org.ep4j.bootstrap;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;

/**
 * The rendezvous on rank 0: lets members in until all have met, then closes its port. The hub that it forms the group with
 * goes on, see {@link Failover}.
 */
final class RendezvousServer implements Gate {
    /** Longest wait for the last frames, and for the port to be free, at the end. */
    private static final Duration FLUSH = Duration.ofSeconds(1);

    private static final Logger LOG = System.getLogger(RendezvousServer.class.getName());

    /**
     * Who holds a rank.
     *
     * @param process its random bytes
     * @param who its address
     */
    @SuppressWarnings("ArrayRecordComponent") // compared by content, by hand
    private record Holder(byte[] process, String who) {}

    private final TcpSettings settings;
    private final Reactor reactor;
    private final Acceptor acceptor;
    private final HubServer hub;
    private final byte[] salt = Keys.random(Keys.SALT_BYTES);
    private final byte[] key;
    private final Terms terms;
    private final Map<Integer, Holder> taken = new HashMap<>();
    private volatile boolean formed;

    private RendezvousServer(TcpSettings settings, Reactor reactor, ServerSocketChannel listener) throws IOException {
        this.settings = settings;
        this.reactor = reactor;
        this.acceptor = new Acceptor(reactor, listener, this);
        this.key = Keys.stretch(settings.secret(), salt);
        this.terms = new Terms(
                settings.heartbeat(),
                settings.silence(),
                acceptor.address().getAddress().isLoopbackAddress(),
                Keys.random(Keys.BYTES));
        this.hub = new HubServer(new Hub(settings.size(), this::formed), settings.size(), this::ended);
        taken.put(0, new Holder(new byte[0], acceptor.address().toString()));
    }

    /**
     * Listens.
     *
     * @throws org.ep4j.EpUnavailableException when the port is taken or the address is not of this machine
     */
    static RendezvousServer start(TcpSettings settings) {
        ServerSocketChannel listener = Listener.open(settings);
        Reactor reactor = null;
        boolean started = false;
        try {
            reactor = Reactor.start("ep4j-rendezvous");
            RendezvousServer server = new RendezvousServer(settings, reactor, listener);
            server.warnIfOpen();
            server.acceptor.start();
            started = true;
            return server;
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "rank 0 lost the port of its rendezvous (" + Sockets.describe(e) + "); start again", e);
        } finally {
            if (!started) {
                Sockets.close(listener);
                if (reactor != null) {
                    reactor.stop();
                }
            }
        }
    }

    int port() {
        return acceptor.address().getPort();
    }

    /** True while a process holds a rank. */
    synchronized boolean taken(int rank) {
        return taken.containsKey(rank);
    }

    Reactor reactor() {
        return reactor;
    }

    HubServer hub() {
        return hub;
    }

    /** Where it listens; the wildcard address where a name was given. */
    InetAddress address() {
        return acceptor.address().getAddress();
    }

    /** Where the others are to reach rank 0 later, if the user chose an interface. */
    Optional<InetAddress> wanted() {
        return OwnAddress.wanted(settings.interfaces(), address());
    }

    /** Ends a rendezvous that did not come about; those who wait are told who is missing. */
    void abandon() {
        hub.hub().abandonSetup();
        acceptor.close(Deadline.in(FLUSH));
        hub.retire(Deadline.in(FLUSH));
        reactor.stop();
    }

    @Override
    public boolean secret() {
        return !settings.secret().isEmpty();
    }

    @Override
    public int size() {
        return settings.size();
    }

    @Override
    public byte[] key() {
        return key;
    }

    @Override
    public byte[] salt() {
        return salt;
    }

    @Override
    public Terms terms() {
        return terms;
    }

    @Override
    public synchronized void check(Hello hello, String who) throws RefusedException {
        if (formed) {
            throw new RefusedException("the group has formed already, with another process as rank " + hello.rank()
                    + "; a rank cannot come back, start the whole job again");
        }
        Holder holder = taken.get(hello.rank());
        if (holder != null && !Arrays.equals(holder.process(), hello.process())) {
            throw new RefusedException("rank " + hello.rank() + " is taken by the process at " + holder.who()
                    + "; give every process a " + TcpSettings.RANK + " of its own");
        }
    }

    /** An earlier attempt of the same process, whose answer came too late for it, gives way. */
    @Override
    public Connection.Handler enter(Hello hello, String who, Connection connection) {
        Connection.Handler handler = hub.serve(hello.rank(), connection);
        synchronized (this) {
            taken.put(hello.rank(), new Holder(hello.process(), who));
        }
        return handler;
    }

    /** Lets a process that went before the group formed come again. */
    private void ended(int rank, String reason, boolean silent) {
        hub.hub().disconnected(rank, reason);
        synchronized (this) {
            if (!formed) {
                taken.remove(rank);
            }
        }
    }

    private void formed() {
        formed = true;
        reactor.execute(acceptor::shut);
    }

    private void warnIfOpen() {
        if (secret()) {
            return;
        }
        if (!terms.local()) {
            LOG.log(
                    Level.WARNING,
                    "the rendezvous at {0} port {1} has no secret: whoever reaches it can join the group; set {2} on all ranks",
                    address().getHostAddress(),
                    Integer.toString(port()),
                    EpKeys.BOOTSTRAP_SECRET.environmentName());
        } else if (OtherUsers.present()) {
            LOG.log(
                    Level.WARNING,
                    "the rendezvous at {0} port {1} has no secret, and other users have processes on this machine, who can"
                            + " join the group; set {2} on all ranks",
                    address().getHostAddress(),
                    Integer.toString(port()),
                    EpKeys.BOOTSTRAP_SECRET.environmentName());
        }
    }
}
