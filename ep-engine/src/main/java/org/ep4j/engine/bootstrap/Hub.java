package org.ep4j.engine.bootstrap;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.transport.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * Collects the contributions of members to gathers, and notifies them when members leave or are lost. It does no I/O and never waits
 * for a member, so the members of one JVM share one directly, and rank 0 serves one over TCP.
 *
 * <p>The monitor of the hub guards everything in it, also its scopes and the frames of a {@link Result}. It is held while an {@link Inbox} or the
 * action for a formed group is called.
 */
final class Hub {
    /** Key of the scope of all members. */
    static final String ROOT = "";

    /** Key of the scope in which members wait until all have joined; keys of subgroups begin with a digit. */
    static final String SETUP = "setup";

    static final String SETUP_TAG = "start";

    /**
     * Link of a member to the hub. No method waits for other members; scopes are named by their keys, members by group rank. A member calls it
     * without a lock that its {@link Inbox} takes.
     */
    interface Link {
        /** Joins a scope; all its members give the same ranks. */
        void declare(String scope, List<Integer> ranks);

        /** Takes part in a gather; the answer is a call of {@link Inbox}. */
        void contribute(String scope, String tag, byte[] mine);

        /** Withdraws from a gather that took too long; unless it is complete, the answer is a failure that names the missing. */
        void giveUp(String scope, String tag);

        /** Leaves a scope; leaving {@link Hub#ROOT} leaves all. */
        void leave(String scope);

        /** Returns whether a loss is proved: only the member itself reports it to the hub. */
        default boolean provesLosses() {
            return false;
        }

        /** Ends the link after {@link #leave}; waits briefly until the hub knows. */
        void close();
    }

    /** Receives what the hub sends to a member. Implementations return at once and do not call the hub, whose monitor the caller may hold. */
    interface Inbox {
        /** Receives the result of a gather, and does not change its arrays. */
        void result(Result result);

        /** Receives the failure of a gather in which the member took part. */
        void failed(String scope, String tag, GatherFailure failure);

        /** Receives that a member has left or is lost; in {@link Hub#ROOT} this holds for every scope. */
        void memberGone(String scope, int rank, MemberState state, String reason);
    }

    /** The result of a gather for all members: encoded once for all of them that are reached over TCP. */
    static final class Result {
        final String scope;
        final String tag;

        /** In the order of the scope's members; all receivers share the arrays. */
        final List<byte[]> parts;

        private @Nullable List<Frame> frames;

        Result(String scope, String tag, List<byte[]> parts) {
            this.scope = scope;
            this.tag = tag;
            this.parts = parts;
        }

        List<Frame> frames() {
            if (frames == null) {
                frames = Wire.result(scope, tag, parts);
            }
            return frames;
        }
    }

    private final Map<Integer, Inbox> inboxes = new HashMap<>();
    private final Map<String, HubScope> scopes = new HashMap<>();
    private final Map<Integer, String> reasons = new HashMap<>();
    private final Runnable onFormed;
    /** Members whose departure has been handled completely. */
    private final BitSet gone;

    private final HubScope root;
    private final HubScope setup;
    private boolean formed;
    private @Nullable Throwable undelivered;

    /**
     * Creates a hub.
     *
     * @param formed false if members still have to join in {@link #SETUP}; until then one that disconnects may join again
     * @param onFormed called when all have joined; does not wait
     */
    Hub(int size, boolean formed, Runnable onFormed) {
        this.formed = formed;
        this.onFormed = onFormed;
        gone = new BitSet(size);
        List<Integer> all = IntStream.range(0, size).boxed().toList();
        root = new HubScope(ROOT, all);
        setup = new HubScope(SETUP, all);
        for (HubScope scope : List.of(root, setup)) {
            scope.declared.set(0, size);
            scopes.put(scope.key(), scope);
        }
    }

    synchronized void attach(int rank, Inbox inbox) {
        inboxes.put(rank, inbox);
    }

    synchronized boolean formed() {
        return formed;
    }

    synchronized void declare(int rank, String key, List<Integer> ranks) {
        HubScope scope = scopes.get(key);
        if (scope == null) {
            scope = new HubScope(key, ranks);
            for (int place = 0; place < ranks.size(); place++) {
                MemberState state = root.state(ranks.get(place));
                if (state != MemberState.ALIVE) {
                    scope.mark(place, state);
                }
            }
            scopes.put(key, scope);
        } else if (!scope.ranks().equals(ranks)) {
            scope.mismatch = "rank " + rank + " gave the ranks " + ranks + ", another member gave " + scope.ranks();
            for (String tag : scope.tags()) {
                fail(scope, tag, GatherFailure.of(GatherFailure.Kind.MISMATCH, scope.mismatch));
            }
        }
        if (!scope.has(rank)) {
            return;
        }
        scope.declared.set(rank);
        for (int place = 0; place < scope.size(); place++) {
            MemberState state = scope.state(place);
            if (state != MemberState.ALIVE) {
                report(rank, key, scope.ranks().get(place), state);
            }
        }
    }

    synchronized void contribute(int rank, String key, String tag, byte[] mine) {
        HubScope scope = scopes.get(key);
        if (scope != null && !scope.mismatch.isEmpty()) {
            answer(rank, key, tag, GatherFailure.of(GatherFailure.Kind.MISMATCH, scope.mismatch));
            return;
        }
        if (scope == null || !scope.has(rank) || !scope.isAlive(rank)) {
            answer(
                    rank,
                    key,
                    tag,
                    GatherFailure.of(
                            GatherFailure.Kind.MISUSE,
                            "this member does not belong, or no longer belongs, to this group or subgroup"));
            return;
        }
        if (!scope.add(tag, rank, mine)) {
            String again = "this member already takes part with this tag";
            answer(rank, key, tag, GatherFailure.of(GatherFailure.Kind.MISUSE, again));
            return;
        }
        if (scope.complete(tag)) {
            Result result = new Result(key, tag, scope.take(tag));
            formed |= key.equals(SETUP);
            for (int member : scope.ranks()) {
                Inbox inbox = inboxes.get(member);
                if (inbox != null) {
                    try {
                        inbox.result(result);
                    } catch (RuntimeException | Error e) {
                        undelivered = e;
                    }
                }
            }
            if (key.equals(SETUP)) {
                onFormed.run();
            }
            throwUndelivered();
        } else {
            failIfHopeless(scope, tag);
        }
    }

    synchronized void giveUp(int rank, String key, String tag) {
        HubScope scope = scopes.get(key);
        if (scope == null || !scope.has(rank) || !scope.takesPart(tag, rank)) {
            // Its result or failure is already on the way.
            return;
        }
        GatherFailure failure = new GatherFailure(GatherFailure.Kind.MISSING, scope.missing(tag), "");
        scope.withdraw(tag, rank);
        answer(rank, key, tag, failure);
    }

    synchronized void leave(int rank, String key) {
        if (key.equals(ROOT)) {
            gone(rank, MemberState.LEFT, "it closed its bootstrap");
            return;
        }
        HubScope scope = scopes.get(key);
        if (scope == null || !scope.has(rank) || !scope.mark(scope.place(rank), MemberState.LEFT)) {
            return;
        }
        scope.tags().forEach(tag -> failIfHopeless(scope, tag));
        for (int member : scope.ranks()) {
            if (member != rank && scope.declared.get(member)) {
                report(member, key, rank, MemberState.LEFT);
            }
        }
        if (scope.over()) {
            scopes.remove(key);
        }
    }

    /** Records that a member's process or connection ended. Before all members have joined, it may join again. */
    synchronized void disconnected(int rank, String reason) {
        if (formed) {
            gone(rank, MemberState.LOST, reason);
        } else {
            inboxes.remove(rank);
            setup.tags().forEach(tag -> setup.withdraw(tag, rank));
        }
    }

    /** Fails the setup because rank 0 gave up; members that wait learn which ranks never connected. */
    synchronized void abandonSetup() {
        List<Integer> absent = setup.ranks().stream()
                .filter(rank -> rank != 0 && !inboxes.containsKey(rank))
                .toList();
        for (String tag : setup.tags()) {
            List<Integer> named = absent.isEmpty() ? setup.missing(tag) : absent;
            fail(setup, tag, new GatherFailure(GatherFailure.Kind.MISSING, named, "rank 0 gave up"));
        }
    }

    /** Members that have not joined yet. */
    synchronized List<Integer> missing() {
        return setup.missing(SETUP_TAG);
    }

    /** Waits until every member has left or is lost; returns false if the deadline passed first. */
    synchronized boolean awaitEmpty(Deadline deadline) throws InterruptedException {
        while (!root.over()) {
            if (deadline.passed()) {
                return false;
            }
            wait(deadline.sleepMillis());
        }
        return true;
    }

    private void gone(int rank, MemberState state, String reason) {
        if (gone.get(rank)) {
            return;
        }
        // If a step fails for want of memory, this is called again, so no step depends on what another one has done.
        inboxes.remove(rank);
        for (HubScope scope : scopes.values()) {
            scope.mark(scope.place(rank), state);
        }
        reasons.put(rank, reason);
        // Before the failures, so that a member that receives one knows the state that explains it.
        for (Inbox inbox : inboxes.values()) {
            try {
                inbox.memberGone(ROOT, rank, state, reason);
            } catch (RuntimeException | Error e) {
                undelivered = e;
            }
        }
        for (HubScope scope : scopes.values()) {
            if (scope.has(rank)) {
                scope.tags().forEach(tag -> failIfHopeless(scope, tag));
            }
        }
        scopes.values().removeIf(scope -> scope != root && scope != setup && scope.over());
        gone.set(rank);
        notifyAll();
        throwUndelivered();
    }

    /** Throws the reason why a member could not be notified, after all others were. */
    private void throwUndelivered() {
        Throwable failure = undelivered;
        undelivered = null;
        if (failure instanceof RuntimeException exception) {
            throw exception;
        }
        if (failure instanceof Error error) {
            throw error;
        }
    }

    private void failIfHopeless(HubScope scope, String tag) {
        List<Integer> gone = scope.goneAndMissing(tag);
        if (!gone.isEmpty()) {
            // A dead member is the cause where others have left because of it.
            int first = gone.stream()
                    .filter(rank -> scope.state(scope.place(rank)) == MemberState.LOST)
                    .findFirst()
                    .orElse(gone.get(0));
            boolean lost = scope.state(scope.place(first)) == MemberState.LOST;
            GatherFailure.Kind kind = lost ? GatherFailure.Kind.LOST : GatherFailure.Kind.LEFT;
            fail(scope, tag, new GatherFailure(kind, List.of(first), reasons.getOrDefault(first, "")));
        }
    }

    private void fail(HubScope scope, String tag, GatherFailure failure) {
        scope.drop(tag).forEach(member -> answer(member, scope.key(), tag, failure));
    }

    private void answer(int rank, String key, String tag, GatherFailure failure) {
        Inbox inbox = inboxes.get(rank);
        if (inbox != null) {
            inbox.failed(key, tag, failure);
        }
    }

    private void report(int receiver, String key, int rank, MemberState state) {
        Inbox inbox = inboxes.get(receiver);
        if (inbox != null) {
            inbox.memberGone(key, rank, state, reasons.getOrDefault(rank, ""));
        }
    }

    /** A scope with the gathers that are under way in it. */
    private static final class HubScope extends Scope {
        private final BitSet declared = new BitSet();
        /** By tag: the contributions, by place in the scope. */
        private final Map<String, TreeMap<Integer, byte[]>> gathers = new HashMap<>();

        private int gone;
        /** Why the scope cannot be used; empty when it can. */
        private String mismatch = "";

        HubScope(String key, List<Integer> ranks) {
            super(key, "", ranks);
        }

        boolean has(int rank) {
            return place(rank) >= 0;
        }

        boolean isAlive(int rank) {
            return state(place(rank)) == MemberState.ALIVE;
        }

        @Override
        boolean mark(int place, MemberState state) {
            boolean isNew = super.mark(place, state);
            gone += isNew ? 1 : 0;
            return isNew;
        }

        boolean over() {
            return gone == size();
        }

        /** Adds a contribution; returns false if the member has already taken part in this gather. */
        boolean add(String tag, int rank, byte[] part) {
            return gathers.computeIfAbsent(tag, t -> new TreeMap<>()).putIfAbsent(place(rank), part) == null;
        }

        boolean complete(String tag) {
            return gather(tag).size() == size();
        }

        boolean takesPart(String tag, int rank) {
            return gather(tag).containsKey(place(rank));
        }

        void withdraw(String tag, int rank) {
            Map<Integer, byte[]> gather = gather(tag);
            gather.remove(place(rank));
            if (gather.isEmpty()) {
                gathers.remove(tag);
            }
        }

        /** Ends a gather; returns its parts in the order of the members. */
        List<byte[]> take(String tag) {
            List<byte[]> parts = List.copyOf(gather(tag).values());
            gathers.remove(tag);
            return parts;
        }

        /** Ends a gather without a result; returns the members that took part. */
        List<Integer> drop(String tag) {
            List<Integer> contributors =
                    gather(tag).keySet().stream().map(ranks()::get).toList();
            gathers.remove(tag);
            return contributors;
        }

        /** Members that have not taken part. */
        List<Integer> missing(String tag) {
            return missing(tag, place -> true);
        }

        /** Members that have left or are lost and did not take part, so that the gather never completes. */
        List<Integer> goneAndMissing(String tag) {
            return gone == 0 ? List.of() : missing(tag, place -> state(place) != MemberState.ALIVE);
        }

        private List<Integer> missing(String tag, IntPredicate which) {
            Map<Integer, byte[]> gather = gather(tag);
            return IntStream.range(0, size())
                    .filter(place -> which.test(place) && !gather.containsKey(place))
                    .mapToObj(ranks()::get)
                    .toList();
        }

        List<String> tags() {
            return new ArrayList<>(gathers.keySet());
        }

        private Map<Integer, byte[]> gather(String tag) {
            return gathers.getOrDefault(tag, new TreeMap<>());
        }
    }
}
