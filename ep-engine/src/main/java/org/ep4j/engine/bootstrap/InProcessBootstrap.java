package org.ep4j.engine.bootstrap;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.Bootstrap;
import org.ep4j.EpArgumentException;
import org.ep4j.transport.NanoClock;

/** Bootstrap of a member that is a thread (or some threads) of this JVM. See {@link Bootstrap#inProcess}. */
final class InProcessBootstrap extends HubBootstrap {
    private final Hub hub;
    private final HubClient client;

    private InProcessBootstrap(Hub hub, HubClient client) {
        super(client, client.root());
        this.hub = hub;
        this.client = client;
    }

    static List<Bootstrap> create(int size, NanoClock clock) {
        if (size < 1) {
            throw new EpArgumentException("size", size, ">= 1", "pass the number of ranks");
        }
        Hub hub = new Hub(size, true, () -> {});
        List<Bootstrap> members = new ArrayList<>(size);
        for (int rank = 0; rank < size; rank++) {
            HubClient client = new HubClient(rank, size, new Direct(hub, rank), clock);
            hub.attach(rank, client);
            members.add(new InProcessBootstrap(hub, client));
        }
        return List.copyOf(members);
    }

    /** Declares this member dead; see {@link org.ep4j.EpEngine#declareDead}. */
    void fail(String reason) {
        if (client.end(GatherFailure.Kind.MISUSE, "this member was declared dead: " + reason, MemberState.LOST)) {
            hub.disconnected(client.rank(), reason);
        }
    }

    @Override
    public void close() {
        client.close();
    }

    @Override
    public String toString() {
        return super.toString() + " of this process";
    }

    /** Calls the hub in the member's own thread. */
    private record Direct(Hub hub, int rank) implements Hub.Link {
        @Override
        public void declare(String scope, List<Integer> ranks) {
            hub.declare(rank, scope, ranks);
        }

        @Override
        public void contribute(String scope, String tag, byte[] mine) {
            hub.contribute(rank, scope, tag, mine.clone());
        }

        @Override
        public void giveUp(String scope, String tag) {
            hub.giveUp(rank, scope, tag);
        }

        @Override
        public void leave(String scope) {
            hub.leave(rank, scope);
        }

        @Override
        public boolean provesLosses() {
            return true;
        }

        @Override
        public void close() {
            // Nothing is held outside this process.
        }
    }
}
