package org.ep4j.bootstrap;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A hub with the connections of its members in other processes. */
final class HubServer {
    /** Decides what becomes of a member whose connection has ended. Called in the reactor's thread. */
    interface EndListener {
        /**
         * Nothing more arrives from a member.
         *
         * @param silent true when nothing was heard for too long, rather than that the connection was closed or reset
         */
        void ended(int rank, String reason, boolean silent);
    }

    private final Hub hub;
    private final int size;
    private final Map<Integer, Connection> members = new HashMap<>();
    private volatile EndListener onEnd;
    private boolean closed;

    /**
     * A server without members.
     *
     * @param onEnd tells the hub who is {@linkplain Hub#disconnected disconnected}
     */
    HubServer(Hub hub, int size, EndListener onEnd) {
        this.hub = hub;
        this.size = size;
        this.onEnd = onEnd;
    }

    Hub hub() {
        return hub;
    }

    void onEnd(EndListener next) {
        onEnd = next;
    }

    /** Takes a member in; an older connection of it, before the group stands, gives way. */
    Connection.Handler serve(int rank, Connection connection) {
        ServerMember member = new ServerMember(rank, size, hub, connection, reason -> ended(rank, connection, reason));
        Connection old;
        synchronized (this) {
            old = members.put(rank, connection);
        }
        if (old != null) {
            hub.disconnected(rank, "it came again");
            old.close();
        }
        hub.attach(rank, member);
        return member;
    }

    /** Ends in good order: what is queued goes out, and the others have read it when this returns in time. */
    void retire(Deadline deadline) {
        List<Connection> open = close();
        open.forEach(Connection::finish);
        open.forEach(connection -> connection.awaitEnd(deadline));
    }

    /** Cuts every connection. */
    void drop() {
        close().forEach(Connection::close);
    }

    private List<Connection> close() {
        hub.close();
        synchronized (this) {
            closed = true;
            return List.copyOf(members.values());
        }
    }

    private void ended(int rank, Connection connection, String reason) {
        synchronized (this) {
            // After a farewell both sides end their connections.
            if (!members.remove(rank, connection) || closed) {
                return;
            }
        }
        onEnd.ended(rank, reason, connection.fellSilent());
    }
}
