package org.ep4j.bootstrap;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.ep4j.EpArgumentException;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;

/** A member that is a thread (or some threads) of this JVM. {@link Bootstraps#inProcess} makes a set of them. */
public final class InProcessBootstrap extends GroupView {
    private final Hub hub;
    private final Membership membership;

    private InProcessBootstrap(Hub hub, Membership membership) {
        super(membership, membership.root());
        this.hub = hub;
        this.membership = membership;
    }

    static List<Bootstrap> create(int size) {
        if (size < 1) {
            throw new EpArgumentException("size", size, ">= 1", "pass the number of ranks");
        }
        Hub hub = new Hub(Collections.nCopies(size, MemberState.ALIVE));
        List<Bootstrap> members = new ArrayList<>(size);
        for (int rank = 0; rank < size; rank++) {
            Membership membership = new Membership(rank, size);
            hub.attach(rank, membership);
            membership.attach(new DirectLink(hub, rank));
            members.add(new InProcessBootstrap(hub, membership));
        }
        return List.copyOf(members);
    }

    /**
     * Declares this member dead, as a crashed process would be seen: the others see it {@link MemberState#LOST}, and its
     * own calls, those under way too, end with {@link org.ep4j.EpPeerLostException} that names this member, as those of a
     * member that the others gave up although it lives. For tests of what survivors do. Does nothing once the member is
     * closed.
     *
     * @param reason appears in the messages of the others
     */
    public void fail(String reason) {
        if (membership.expel("it was declared dead: " + reason)) {
            hub.disconnected(membership.rank(), reason);
        }
    }

    @Override
    public void close() {
        membership.close();
    }

    @Override
    public String toString() {
        return super.toString() + " of this process";
    }
}
