package org.ep4j.engine.bootstrap;

import java.time.Duration;
import java.util.List;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpArgumentException;

/** A scope of members, as one of them sees it: a subgroup, or, in a subclass, all members. */
class GroupView implements Bootstrap {
    private final Membership membership;
    private final Scope scope;
    private final int rank;

    GroupView(Membership membership, Scope scope) {
        this.membership = membership;
        this.scope = scope;
        this.rank = scope.place(membership.rank());
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
        return membership.gather(scope, tag, mine, membership.deadline(deadline));
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
        return membership.provesLosses();
    }

    @Override
    public long stateChanges() {
        return membership.changes();
    }

    @Override
    public Bootstrap subgroup(String name, List<Integer> ranks) {
        return new GroupView(membership, membership.subgroup(scope, name, ranks));
    }

    @Override
    public void close() {
        membership.leave(scope);
    }

    @Override
    public String toString() {
        return "rank " + rank + " of " + scope.size()
                + (scope.label().isEmpty() ? "" : " in subgroup " + scope.label());
    }
}
