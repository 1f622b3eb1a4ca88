package org.ep4j.engine.bootstrap;

import java.time.Duration;
import java.util.List;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpArgumentException;

/** Bootstrap of one member of a scope of the hub: of a subgroup or, in subclasses, of the whole group. */
class HubBootstrap implements Bootstrap {
    private final HubClient client;
    private final Scope scope;
    private final int rank;

    HubBootstrap(HubClient client, Scope scope) {
        this.client = client;
        this.scope = scope;
        this.rank = scope.place(client.rank());
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public int size() {
        return scope.size();
    }

    @Override
    public List<byte[]> allGather(String tag, byte[] mine, Duration deadline) {
        return client.gather(scope, tag, mine, client.deadline(deadline));
    }

    @Override
    public MemberState state(int member) {
        if (member < 0 || member >= scope.size()) {
            throw new EpArgumentException(
                    "rank", member, "in [0, " + scope.size() + ")", "name a member of this bootstrap");
        }
        return scope.state(member);
    }

    @Override
    public boolean provesLosses() {
        return client.provesLosses();
    }

    @Override
    public long stateChanges() {
        return client.changes();
    }

    @Override
    public Bootstrap subgroup(String name, List<Integer> ranks) {
        return new HubBootstrap(client, client.subgroup(scope, name, ranks));
    }

    @Override
    public void close() {
        client.leave(scope);
    }

    @Override
    public String toString() {
        return "rank " + rank + " of " + scope.size()
                + (scope.label().isEmpty() ? "" : " in subgroup " + scope.label());
    }
}
