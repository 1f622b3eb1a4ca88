package org.ep4j.engine.bootstrap;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * A member's side of the {@link Hub}, the same for threads and over TCP: its scopes, the gathers that its threads wait for, and the
 * states of the other members. One lock guards scopes, gathers and the reason why the bootstrap ended; it is never held while the hub
 * is called.
 */
final class HubClient implements Hub.Inbox {
    /** Most bytes that a member may contribute to one gather. */
    static final int MAX_BYTES = 16 << 20;

    /** Most characters of a tag, and of a subgroup's path of names; keeps both inside the frames' text limit. */
    static final int MAX_NAME = 8192;

    /** Extra wait for the hub to say who is missing after a deadline has passed. */
    private static final Duration GRACE = Duration.ofMillis(500);

    private record Key(String scope, String tag) {}

    /** A gather that a thread of this member waits for. It ends once, with parts or a failure. Its own monitor, taken last, guards it. */
    private static final class PendingGather {
        private final int size;
        private final TreeMap<Integer, byte[]> parts = new TreeMap<>();
        private final CountDownLatch done = new CountDownLatch(1);
        private @Nullable GatherFailure failure;

        PendingGather(int size) {
            this.size = size;
        }

        /** Adds parts of the result, which may arrive in several frames. */
        synchronized void parts(int first, List<byte[]> some) {
            for (int i = 0; i < some.size(); i++) {
                parts.put(first + i, some.get(i));
            }
            if (parts.size() == size) {
                done.countDown();
            }
        }

        synchronized void fail(GatherFailure why) {
            if (done.getCount() > 0) {
                failure = why;
                done.countDown();
            }
        }

        synchronized Optional<GatherFailure> failure() {
            return Optional.ofNullable(failure);
        }

        synchronized List<byte[]> result() {
            return List.copyOf(parts.values());
        }
    }

    private final int rank;
    private final Hub.Link link;
    private final NanoClock clock;
    private final Scope root;
    private final Scope setup;
    private final Object lock = new Object();
    private final Map<String, Scope> scopes = new HashMap<>();
    private final Map<Key, PendingGather> pending = new HashMap<>();
    private final AtomicLong changes = new AtomicLong();
    /** Why no gather can start any more; empty before that. */
    private String ended = "";

    private GatherFailure.Kind endedBy = GatherFailure.Kind.MISUSE;

    HubClient(int rank, int size, Hub.Link link, NanoClock clock) {
        this.rank = rank;
        this.link = link;
        this.clock = clock;
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

    Deadline deadline(Duration wait) {
        return Deadline.in(wait, clock);
    }

    /** Waits until all members have joined. */
    void awaitSetup(Deadline deadline) {
        gather(setup, Hub.SETUP_TAG, new byte[0], deadline);
    }

    boolean provesLosses() {
        return link.provesLosses();
    }

    long changes() {
        return changes.get();
    }

    List<byte[]> gather(Scope scope, String tag, byte[] mine, Deadline deadline) {
        if (mine.length > MAX_BYTES) {
            throw new EpArgumentException(
                    "mine",
                    mine.length + " bytes",
                    "at most " + MAX_BYTES + " bytes",
                    "send the data in several gathers");
        }
        checkName("tag", tag);
        Key key = new Key(scope.key(), tag);
        PendingGather gather = new PendingGather(scope.size());
        synchronized (lock) {
            if (!ended.isEmpty()) {
                throw GatherFailure.of(endedBy, ended).exception(scope, scope.phase(tag), deadline);
            }
            if (scopes.get(scope.key()) != scope) {
                throw new EpStateException("subgroup " + scope.label() + " is closed; gather before closing it");
            }
            if (pending.putIfAbsent(key, gather) != null) {
                throw new EpStateException(
                        scope.phase(tag) + " is under way in another thread of this member; use every tag once");
            }
        }
        try {
            link.contribute(scope.key(), tag, mine);
            if (!deadline.await(gather.done)) {
                link.giveUp(scope.key(), tag);
                if (!deadline(GRACE).await(gather.done)) {
                    gather.fail(GatherFailure.of(GatherFailure.Kind.MISSING, ""));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            link.giveUp(scope.key(), tag);
            throw new EpException("interrupted in " + scope.phase(tag), e);
        } finally {
            synchronized (lock) {
                pending.remove(key, gather);
            }
        }
        gather.failure().ifPresent(failure -> {
            throw failure.exception(scope, scope.phase(tag), deadline);
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
                    "ranks",
                    members,
                    "distinct ranks, this member's own among them",
                    "create a subgroup only on its own members");
        }
        Scope scope = new Scope(parent.childKey(name), parent.childLabel(name), groupRanks);
        checkName("subgroup", scope.key());
        synchronized (lock) {
            if (!ended.isEmpty()) {
                String phase = "subgroup " + scope.label();
                throw GatherFailure.of(endedBy, ended).exception(scope, phase, deadline(Duration.ZERO));
            }
            if (scopes.get(parent.key()) != parent) {
                throw new EpStateException(
                        "subgroup " + parent.label() + " is closed; create its subgroups before closing it");
            }
            if (scopes.putIfAbsent(scope.key(), scope) != null) {
                throw new EpStateException(
                        "subgroup " + scope.label() + " exists already; give every subgroup a different name");
            }
            groupRanks.forEach(member -> scope.mark(scope.place(member), root.state(member)));
        }
        link.declare(scope.key(), groupRanks);
        return scope;
    }

    /** Leaves a scope, and the subgroups inside it; a second call does nothing. */
    void leave(Scope scope) {
        List<String> left = new ArrayList<>();
        synchronized (lock) {
            if (scopes.get(scope.key()) != scope) {
                return;
            }
            for (Scope candidate : List.copyOf(scopes.values())) {
                if (candidate.key().startsWith(scope.key())) {
                    scopes.remove(candidate.key());
                    candidate.mark(candidate.place(rank), MemberState.LEFT);
                    left.add(candidate.key());
                }
            }
            pending.forEach((key, gather) -> {
                if (left.contains(key.scope())) {
                    gather.fail(GatherFailure.of(GatherFailure.Kind.MISUSE, "this member closed its bootstrap"));
                }
            });
            changes.incrementAndGet();
        }
        left.stream().filter(key -> !key.equals(Hub.ROOT)).forEach(link::leave);
    }

    /** Leaves the group; a second call does nothing. */
    void close() {
        if (end(GatherFailure.Kind.MISUSE, "this member closed its bootstrap", MemberState.LEFT)) {
            link.leave(Hub.ROOT);
        }
        link.close();
    }

    /** Ends all gathers, now and later; returns false if they had ended before. */
    boolean end(GatherFailure.Kind kind, String why, MemberState own) {
        synchronized (lock) {
            if (!ended.isEmpty() && endedBy != GatherFailure.Kind.HUB_GONE) {
                return false;
            }
            boolean first = ended.isEmpty();
            ended = why;
            endedBy = kind;
            int gone = kind == GatherFailure.Kind.HUB_GONE ? 0 : rank;
            scopes.values().forEach(scope -> scope.mark(scope.place(gone), own));
            pending.values().forEach(gather -> gather.fail(GatherFailure.of(kind, why)));
            changes.incrementAndGet();
            return first;
        }
    }

    @Override
    public void result(Hub.Result result) {
        // Members of one JVM share the hub's arrays, and a caller may change its result.
        parts(
                result.scope,
                result.tag,
                0,
                result.parts.stream().map(byte[]::clone).toList());
    }

    /** Adds parts of a result; the arrays become the caller's. */
    void parts(String scope, String tag, int first, List<byte[]> some) {
        with(scope, tag, gather -> gather.parts(first, some));
    }

    @Override
    public void failed(String scope, String tag, GatherFailure failure) {
        with(scope, tag, gather -> gather.fail(failure));
    }

    private void with(String scope, String tag, Consumer<PendingGather> action) {
        synchronized (lock) {
            PendingGather gather = pending.get(new Key(scope, tag));
            if (gather != null) {
                action.accept(gather);
            }
        }
    }

    @Override
    public void memberGone(String scope, int member, MemberState state, String reason) {
        synchronized (lock) {
            boolean changed = false;
            for (Scope candidate : scopes.values()) {
                if (scope.equals(Hub.ROOT) || scope.equals(candidate.key())) {
                    changed |= candidate.mark(candidate.place(member), state);
                }
            }
            if (changed) {
                changes.incrementAndGet();
            }
        }
    }

    private static void checkName(String what, String name) {
        if (name.isEmpty() || name.length() > MAX_NAME) {
            throw new EpArgumentException(
                    what, name.length() + " characters", "1 to " + MAX_NAME + " characters", "give it a short name");
        }
    }
}
