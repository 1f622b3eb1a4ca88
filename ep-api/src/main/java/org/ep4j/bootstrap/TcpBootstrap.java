package org.ep4j.bootstrap;

import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.spi.Bootstrap;

/** A member whose others are reached over TCP, through the hub of the group. */
final class TcpBootstrap extends GroupView {
    private final Failover failover;
    private final AtomicBoolean closed = new AtomicBoolean();

    private TcpBootstrap(Membership membership, Failover failover) {
        super(membership, membership.root());
        this.failover = failover;
    }

    /** Joins; rank 0 opens the rendezvous first. Returns when all ranks are there. */
    static Bootstrap join(TcpSettings settings) {
        Deadline deadline = Deadline.in(settings.setupTimeout());
        return settings.rank() == 0
                ? join(settings, RendezvousServer.start(settings), deadline)
                : join(settings, List.of(), deadline);
    }

    /** Joins through rank 0's own server. */
    static Bootstrap join(TcpSettings settings, RendezvousServer server, Deadline deadline) {
        Membership membership = new Membership(0, settings.size());
        boolean joined = false;
        try {
            Failover failover = Failover.ofHub(membership, server);
            Bootstrap member = meet(membership, failover, deadline);
            joined = true;
            return member;
        } finally {
            if (!joined) {
                server.abandon();
            }
        }
    }

    /** Joins a rendezvous that is at one of {@code addresses}; empty to look the host's up. */
    static Bootstrap join(TcpSettings settings, List<InetAddress> addresses, Deadline deadline) {
        RendezvousClient.Joined joined = new RendezvousClient(settings, addresses, settings.port(), deadline).connect();
        boolean kept = false;
        try {
            Membership membership = new Membership(settings.rank(), settings.size());
            Bootstrap member = meet(membership, Failover.ofMember(membership, joined, settings), deadline);
            kept = true;
            return member;
        } finally {
            if (!kept) {
                Sockets.close(joined.socket());
            }
        }
    }

    private static Bootstrap meet(Membership membership, Failover failover, Deadline deadline) {
        boolean met = false;
        try {
            List<byte[]> told = membership.meet(failover.address().encode(), deadline);
            failover.begin(told.stream().map(PeerAddress::parse).toList());
            met = true;
            return new TcpBootstrap(membership, failover);
        } finally {
            if (!met) {
                failover.abandon();
            }
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            failover.close();
        }
    }

    /** Breaks all connections without a farewell, as a crash does. */
    void cut() {
        failover.cut();
    }

    @Override
    public String toString() {
        return super.toString() + " over TCP";
    }
}
