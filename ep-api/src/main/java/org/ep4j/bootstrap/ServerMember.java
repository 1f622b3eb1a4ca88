package org.ep4j.bootstrap;

import java.io.IOException;
import java.util.List;
import org.ep4j.spi.MemberState;

/** One member on the server: frames in become calls of the hub, calls of the hub become frames out. */
final class ServerMember implements Connection.Handler, MemberInbox {
    private final int rank;
    private final int size;
    private final Hub hub;
    private final Connection connection;
    private final Runnable onEnd;

    ServerMember(int rank, int size, Hub hub, Connection connection, Runnable onEnd) {
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
        try {
            hub.disconnected(rank, reason);
        } finally {
            onEnd.run();
        }
    }

    @Override
    public void result(String scope, String tag, List<byte[]> parts) {
        Wire.result(scope, tag, parts).forEach(connection::send);
    }

    @Override
    public void failed(String scope, String tag, Failure failure) {
        connection.send(Wire.failed(scope, tag, failure));
    }

    @Override
    public void news(String scope, int member, MemberState state, String reason) {
        connection.send(Wire.news(scope, member, state, reason));
    }
}
