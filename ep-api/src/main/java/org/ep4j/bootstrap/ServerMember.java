package org.ep4j.bootstrap;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.ep4j.spi.MemberState;

/**
 * One member on the server: turns its frames into calls of the hub, and calls of the hub into frames. A frame that cannot be queued ends the
 * connection of this member, and disturbs neither the hub nor the member on whose behalf the hub calls.
 */
final class ServerMember implements Connection.Handler, MemberInbox {
    private static final Logger LOG = System.getLogger(ServerMember.class.getName());

    /** A constant, since there may be no memory for another text. */
    private static final String NOT_QUEUED =
            "rank 0 could not queue a message to the lost rank, probably because rank 0 ran out of memory";

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
        // Not the second without the first: another attempt of the process could have joined when the first is done
        // again.
        hub.disconnected(rank, reason);
        onEnd.run();
    }

    @Override
    public void result(GatherResult result) {
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
    public void failed(String scope, String tag, Failure failure) {
        try {
            connection.send(Wire.failed(scope, tag, failure));
        } catch (Throwable e) {
            cut(e);
        }
    }

    @Override
    public void news(String scope, int member, MemberState state, String reason) {
        try {
            connection.send(Wire.news(scope, member, state, reason));
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
