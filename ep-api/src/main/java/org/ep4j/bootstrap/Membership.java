package org.ep4j.bootstrap;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.spi.MemberState;

/**
 * One member's side of a bootstrap, the same for threads and over TCP: its scopes, the gathers that its threads wait for,
 * and what it knows of the others. Its hub may change: open scopes are declared again at the next one, and gathers that
 * began without a hub, or whose hub left in good order, are contributed there. The lock is not held while a hub is called
 * that other members can reach already.
 */
final class Membership implements MemberInbox {
    /** Most bytes that a member may contribute to one gather. */
    static final int MAX_BYTES = 16 << 20;

    /** Most characters of a tag, and of a subgroup's path of names; keeps both inside the frames' text limit. */
    static final int MAX_NAME = 8192;

    /** Extra wait for the hub to say who is missing after a deadline has passed. */
    private static final Duration GRACE = Duration.ofMillis(500);

    private record Key(String scope, String tag) {}

    private final int rank;
    private final Scope root;
    private final Scope setup;
    private final Object lock = new Object();
    private final Map<String, Scope> scopes = new HashMap<>();
    /** Scopes that this member has left and others have not, for the next hub. */
    private final Map<String, Scope> left = new HashMap<>();

    private final Map<Key, PendingGather> pending = new HashMap<>();
    private final AtomicLong changes = new AtomicLong();
    private final CountDownLatch farewell = new CountDownLatch(1);
    private HubLink link = HubLink.NONE;
    private boolean leaving;
    /** Why no gather can start any more; of kind MISUSE and empty while all is well. */
    private Failure ended = Failure.of(Failure.Kind.MISUSE, "");

    Membership(int rank, int size) {
        this.rank = rank;
        this.root = Scope.all(Hub.ROOT, size);
        this.setup = Scope.all(Hub.SETUP, size);
        scopes.put(Hub.ROOT, root);
        scopes.put(Hub.SETUP, setup);
    }

    int rank() {
        return rank;
    }

    Scope root() {
        return root;
    }

    /** Waits until all members have come, and gives what each of them said. */
    List<byte[]> meet(byte[] mine, Deadline deadline) {
        return gather(setup, "start", mine, deadline);
    }

    long changes() {
        return changes.get();
    }

    /** Takes a hub: declares there what is open. Nobody else may be able to call a hub of this process yet. */
    void attach(HubLink next) {
        synchronized (lock) {
            link = next;
            scopes.values().stream()
                    .filter(this::isSubgroup)
                    .forEach(scope -> next.declare(scope.key(), scope.ranks()));
            left.values().forEach(scope -> {
                next.declare(scope.key(), scope.ranks());
                next.leave(scope.key());
            });
            pending.forEach((key, gather) -> {
                if (gather.isOpen()) {
                    next.contribute(key.scope(), key.tag(), gather.mine());
                }
            });
            if (leaving) {
                next.leave(Hub.ROOT);
            }
        }
    }

    /**
     * Notes that a hub is gone. One that said farewell has delivered every result before, so gathers under way go on at the
     * next hub; else they end, since the others may have their results. False when the link was not the present one.
     */
    boolean detach(HubLink gone, int hub, String reason) {
        synchronized (lock) {
            if (link != gone) {
                return false;
            }
            link = HubLink.NONE;
            if (root.state(hub) != MemberState.LEFT && farewell.getCount() > 0) {
                Failure failure = new Failure(Failure.Kind.HUB_GONE, List.of(hub), reason);
                pending.values().forEach(gather -> gather.fail(failure));
                mark(Hub.ROOT, hub, MemberState.LOST);
            }
            return true;
        }
    }

    List<byte[]> gather(Scope scope, String tag, byte[] mine, Deadline deadline) {
        if (mine.length > MAX_BYTES) {
            throw new EpArgumentException(
                    "mine", mine.length + " bytes", "at most " + MAX_BYTES + " bytes", "send it in several gathers");
        }
        checkName("tag", tag);
        Key key = new Key(scope.key(), tag);
        PendingGather gather = new PendingGather(scope.size(), mine);
        HubLink hub;
        synchronized (lock) {
            checkOpen(scope, scope.phase(tag), deadline);
            if (scopes.get(scope.key()) != scope) {
                throw new EpStateException("subgroup " + scope.label() + " is closed; gather before closing it");
            }
            if (pending.putIfAbsent(key, gather) != null) {
                throw new EpStateException(
                        scope.phase(tag) + " is under way in another thread of this member; use every tag once");
            }
            hub = link;
        }
        try {
            hub.contribute(scope.key(), tag, gather.mine());
            if (!gather.await(deadline.remainingNanos())) {
                giveUp(key, gather);
                if (!gather.await(GRACE.toNanos())) {
                    gather.fail(Failure.of(Failure.Kind.MISSING, ""));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            giveUp(key, gather);
            throw new EpException("interrupted in " + scope.phase(tag), e);
        } finally {
            synchronized (lock) {
                pending.remove(key, gather);
            }
        }
        gather.failure().ifPresent(failure -> {
            throw Failures.exception(failure, scope, scope.phase(tag), deadline);
        });
        return gather.result();
    }

    Scope subgroup(Scope parent, String name, List<Integer> members) {
        List<Integer> groupRanks = new ArrayList<>();
        for (int member : members) {
            if (member < 0 || member >= parent.size()) {
                throw new EpArgumentException(
                        "ranks", members, "ranks in [0, " + parent.size() + ")", "name members of this bootstrap");
            }
            groupRanks.add(parent.ranks().get(member));
        }
        if (groupRanks.stream().distinct().count() != groupRanks.size() || !groupRanks.contains(rank)) {
            throw new EpArgumentException(
                    "ranks", members, "distinct, with this member's own rank", "call it only on the members");
        }
        Scope scope = new Scope(parent.childKey(name), parent.childLabel(name), groupRanks);
        checkName("subgroup", scope.key());
        HubLink hub;
        synchronized (lock) {
            checkOpen(scope, "subgroup " + scope.label(), Deadline.in(Duration.ZERO));
            if (scopes.get(parent.key()) != parent) {
                throw new EpStateException("subgroup " + parent.label() + " is closed; divide it before closing it");
            }
            if (scopes.putIfAbsent(scope.key(), scope) != null) {
                throw new EpStateException(
                        "subgroup " + scope.label() + " exists already; give each a name of its own");
            }
            groupRanks.forEach(member -> scope.mark(scope.place(member), root.state(member)));
            hub = link;
        }
        hub.declare(scope.key(), groupRanks);
        return scope;
    }

    /** Leaves a scope, and the subgroups inside it; a second call does nothing. */
    void leave(Scope scope) {
        List<String> keys = new ArrayList<>();
        HubLink hub;
        synchronized (lock) {
            if (scopes.get(scope.key()) != scope) {
                return;
            }
            for (Scope candidate : List.copyOf(scopes.values())) {
                if (candidate.key().startsWith(scope.key())) {
                    scopes.remove(candidate.key());
                    candidate.mark(candidate.place(rank), MemberState.LEFT);
                    keys.add(candidate.key());
                    if (!candidate.over()) {
                        left.put(candidate.key(), candidate);
                    }
                }
            }
            pending.forEach((key, gather) -> {
                if (keys.contains(key.scope())) {
                    gather.fail(Failure.of(Failure.Kind.MISUSE, "this member closed its bootstrap"));
                }
            });
            changes.incrementAndGet();
            hub = link;
        }
        keys.stream().filter(key -> !key.equals(Hub.ROOT)).forEach(hub::leave);
    }

    /** Leaves the group; a second call does nothing. */
    void close() {
        HubLink hub;
        synchronized (lock) {
            if (!end(Failure.of(Failure.Kind.MISUSE, "this member closed its bootstrap"), MemberState.LEFT)) {
                return;
            }
            leaving = true;
            hub = link;
        }
        hub.leave(Hub.ROOT);
    }

    /** Waits until a hub has confirmed that this member has left. */
    boolean awaitFarewell(Deadline deadline) {
        return deadline.await(farewell);
    }

    /** Notes that the others hold this member lost; false when it had ended before. */
    boolean expel(String why) {
        synchronized (lock) {
            link = HubLink.NONE;
            return end(new Failure(Failure.Kind.EXPELLED, List.of(rank), why), MemberState.LOST);
        }
    }

    /** Marks a member that this one found lost by itself. */
    boolean lose(int member) {
        synchronized (lock) {
            return mark(Hub.ROOT, member, MemberState.LOST);
        }
    }

    /** True when the others hold this member lost. */
    boolean isOut() {
        return root.state(rank) == MemberState.LOST;
    }

    List<MemberState> states() {
        return root.ranks().stream().map(root::state).toList();
    }

    @Override
    public void result(Gathered gathered) {
        // Members of one JVM share the hub's arrays, and a caller may change what it gets.
        parts(
                gathered.scope(),
                gathered.tag(),
                0,
                gathered.parts().stream().map(byte[]::clone).toList());
    }

    /** A piece of a result; the arrays become the caller's. */
    void parts(String scope, String tag, int first, List<byte[]> some) {
        synchronized (lock) {
            PendingGather gather = pending.get(new Key(scope, tag));
            if (gather != null) {
                gather.parts(first, some);
            }
        }
    }

    @Override
    public void failed(String scope, String tag, Failure failure) {
        synchronized (lock) {
            PendingGather gather = pending.get(new Key(scope, tag));
            if (gather != null) {
                gather.fail(failure);
            }
        }
    }

    @Override
    public void news(String scope, int member, MemberState state, String reason) {
        synchronized (lock) {
            if (member == rank && scope.equals(Hub.ROOT)) {
                farewell.countDown();
                if (state == MemberState.LOST) {
                    expel("the others hold it lost: " + reason);
                }
            } else {
                mark(scope, member, state);
            }
        }
    }

    private void giveUp(Key key, PendingGather gather) {
        HubLink hub;
        synchronized (lock) {
            gather.withdraw();
            hub = link;
        }
        hub.giveUp(key.scope(), key.tag());
    }

    private void checkOpen(Scope scope, String phase, Deadline deadline) {
        if (!ended.text().isEmpty()) {
            throw Failures.exception(ended, scope, phase, deadline);
        }
    }

    /** Lets no call through any more; the first end counts. */
    private boolean end(Failure why, MemberState own) {
        if (!ended.text().isEmpty()) {
            return false;
        }
        ended = why;
        scopes.values().forEach(scope -> scope.mark(scope.place(rank), own));
        pending.values().forEach(gather -> gather.fail(why));
        changes.incrementAndGet();
        return true;
    }

    private boolean mark(String key, int member, MemberState state) {
        boolean changed = false;
        for (Scope scope :
                Stream.concat(scopes.values().stream(), left.values().stream()).toList()) {
            if (key.equals(Hub.ROOT) || key.equals(scope.key())) {
                changed |= scope.mark(scope.place(member), state);
            }
        }
        left.values().removeIf(Scope::over);
        if (changed) {
            changes.incrementAndGet();
        }
        return changed;
    }

    private boolean isSubgroup(Scope scope) {
        return scope != root && scope != setup;
    }

    private static void checkName(String what, String name) {
        if (name.isEmpty() || name.length() > MAX_NAME) {
            throw new EpArgumentException(
                    what, name.length() + " characters", "1 to " + MAX_NAME + " characters", "give it a short name");
        }
    }
}
