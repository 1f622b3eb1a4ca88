package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;

/** A member's link to the hub on rank 0. */
final class TcpLink implements Hub.Link {
    /** Longest wait for rank 0 to receive the LEAVE message. */
    private static final Duration LEAVE_TIMEOUT = Duration.ofSeconds(2);

    private final IoLoop loop;
    private final Connection connection;
    private final NanoClock clock;

    /** Takes over a channel whose handshake is done. */
    TcpLink(SocketChannel channel, Connection.Session session, TcpSettings settings) {
        clock = settings.clock();
        loop = new IoLoop("ep4j-member-" + settings.rank(), clock);
        try {
            connection = new Connection(channel, loop, session, clock);
        } catch (RuntimeException | Error e) {
            loop.close();
            throw e;
        }
    }

    void start(HubClient client) {
        connection.start(new Connection.Handler() {
            @Override
            public void received(Frame frame) throws IOException {
                Wire.toMember(frame, client);
            }

            @Override
            public void ended(String reason) {
                MemberState zero = client.root().state(0);
                String text = zero == MemberState.LEFT ? "rank 0 has left, and its rendezvous has ended" : reason;
                client.end(GatherFailure.Kind.HUB_GONE, text, MemberState.LOST);
                loop.closeWhenIdle();
            }
        });
    }

    /** Number of records that arrived from rank 0, heartbeats included. */
    long received() {
        return connection.received();
    }

    /** Closes the connection without leaving, as a crash does. */
    void cut() {
        connection.close("closed on this side");
        loop.closeWhenIdle();
    }

    @Override
    public void declare(String scope, List<Integer> ranks) {
        connection.send(Wire.declare(scope, ranks));
    }

    @Override
    public void contribute(String scope, String tag, byte[] mine) {
        connection.send(Wire.contribute(scope, tag, mine));
    }

    @Override
    public void giveUp(String scope, String tag) {
        connection.send(Wire.giveUp(scope, tag));
    }

    @Override
    public void leave(String scope) {
        connection.send(Wire.leave(scope));
    }

    /**
     * Sends everything that is queued, LEAVE included, and closes the connection when the server has ended its side, or after
     * 2 seconds. Closing it earlier could lose LEAVE.
     */
    @Override
    public void close() {
        connection.finish();
        connection.awaitEnd(Deadline.in(LEAVE_TIMEOUT, clock));
        cut();
    }
}
