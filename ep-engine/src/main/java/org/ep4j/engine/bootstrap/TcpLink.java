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
    /** Longest wait for rank 0 to take note of a farewell. */
    private static final Duration FAREWELL = Duration.ofSeconds(2);

    private final IoLoop loop;
    private final Connection connection;
    private final NanoClock clock;

    /** The link over a channel whose handshake is done. */
    TcpLink(SocketChannel channel, Connection.Session session, TcpSettings settings) {
        clock = settings.clock();
        loop = new IoLoop("ep4j-member-" + settings.rank(), clock);
        boolean made = false;
        try {
            connection = new Connection(channel, loop, session, clock);
            made = true;
        } finally {
            if (!made) {
                loop.close();
            }
        }
    }

    void start(Membership membership) {
        connection.start(new Connection.Handler() {
            @Override
            public void received(Frame frame) throws IOException {
                Wire.toMember(frame, membership);
            }

            @Override
            public void ended(String reason) {
                MemberState zero = membership.root().state(0);
                String text = zero == MemberState.LEFT ? "rank 0 has left, and its rendezvous has ended" : reason;
                membership.end(Failure.Kind.HUB_GONE, text, MemberState.LOST);
                loop.closeWhenIdle();
            }
        });
    }

    /** How often something arrived from rank 0, heartbeats too. */
    long received() {
        return connection.received();
    }

    /** Breaks the connection without a farewell, as a crash does. */
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
     * Sends everything that is queued, such as the farewell, and closes the connection when the server has ended its
     * side, or after 2 seconds. Closing it earlier could lose the farewell.
     */
    @Override
    public void close() {
        connection.finish();
        connection.awaitEnd(Deadline.in(FAREWELL, clock));
        cut();
    }
}
