package org.ep4j.engine.bootstrap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.transport.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * Collects what members contribute and tells them about each other. It does no I/O and never waits for a member, so the
 * members of one JVM share one directly, and rank 0 serves one over TCP.
 *
 * <p>The monitor of the hub guards everything in it, also its scopes and the frames of a {@link Result}. It is held while an {@link Inbox} or the
 * action for a formed group is called.
 */
final class Hub {
    /** Key of the scope of all members. */
    static final String ROOT = "";

    /** Key of the scope in which members wait for each other at the start; keys of subgroups begin with a digit. */
    static final String SETUP = "setup";

    /** Tag of the gather in which they do. */
    static final String SETUP_TAG = "start";

    /**
     * Link of a member to the hub. No method waits for other members; scopes are named by their keys, members by group rank. A member calls it
     * without a lock that its {@link Inbox} takes.
     */
    interface Link {
        /** Joins a scope; all its members give the same ranks. */
        void declare(String scope, List<Integer> ranks);

        /** Takes part in a gather; the answer comes through {@link Inbox}. */
        void contribute(String scope, String tag, byte[] mine);

        /** Withdraws from a gather that took too long; unless it is complete, a failure that names the missing comes back. */
        void giveUp(String scope, String tag);

        /** Leaves a scope; leaving {@link Hub#ROOT} leaves all. */
        void leave(String scope);

        /** True if the hub hears of a loss only from the member itself. */
        default boolean provesLosses() {
            return false;
        }

        /** Ends the link after {@link #leave}; waits briefly until the hub knows. */
        void close();
    }

    /** Receives what the hub sends to a member. Implementations return at once and do not call the hub, whose monitor the caller may hold. */
    interface Inbox {
        /** Takes the result of a gather. Receivers do not change its arrays. */
        void result(Result result);

        /** Takes note that a gather which the member took part in has ended without a result. */
        void failed(String scope, String tag, Failure failure);

        /** Takes note that a member has left or is lost; in {@link Hub#ROOT} this holds for every scope. */
        void news(String scope, int rank, MemberState state, String reason);
    }

    /** The result of a gather, which all members get: encoded once for all of them that are reached over TCP. */
    static final class Result {
        private final String scope;
        private final String tag;
        private final List<byte[]> parts;
        private @Nullable List<Frame> frames;

        /**
         * The result of a gather.
         *
         * @param scope key of the scope
         * @param parts in the order of the scope's members; the arrays are shared by all receivers
         */
        Result(String scope, String tag, List<byte[]> parts) {
            this.scope = scope;
            this.tag = tag;
            this.parts = parts;
        }

        String scope() {
            return scope;
        }

        String tag() {
            return tag;
        }

        List<byte[]> parts() {
            return parts;
        }

        List<Frame> frames() {
            List<Frame> made = frames;
            if (made == null) {
                made = Wire.result(scope, tag, parts);
                frames = made;
            }
            return made;
        }
    }

    private final Map<Integer, Inbox> inboxes = new HashMap<>();
    private final Map<String, ScopeState> scopes = new HashMap<>();
    private final Map<Integer, String> reasons = new HashMap<>();
    private final Runnable onFormed;
    /** Members whose going has been dealt with in whole. */
    private final BitSet gone;

    private boolean formed;
    private @Nullable Throwable undelivered;

    /**
     * A hub.
     *
     * @param formed false when members still have to meet in {@link #SETUP}; until then one that goes may come again
     * @param onFormed called when they have met; does not wait
     */
    Hub(int size, boolean formed, Runnable onFormed) {
        this.formed = formed;
        this.onFormed = onFormed;
        gone = new BitSet(size);
        List<Integer> all = IntStream.range(0, size).boxed().toList();
        for (String key : List.of(ROOT, SETUP)) {
            ScopeState scope = new ScopeState(all);
            scope.declared.set(0, size);
            scopes.put(key, scope);
        }
    }

    synchronized void attach(int rank, Inbox inbox) {
        inboxes.put(rank, inbox);
    }

    synchronized boolean formed() {
        return formed;
    }

    synchronized void declare(int rank, String key, List<Integer> ranks) {
        ScopeState scope = scopes.get(key);
        if (scope == null) {
            scope = new ScopeState(ranks);
            for (int member : ranks) {
                MemberState state = root().state(member);
                if (state != MemberState.ALIVE) {
                    scope.mark(member, state);
                }
            }
            scopes.put(key, scope);
        } else if (!scope.ranks.equals(ranks)) {
            scope.mismatch = "rank " + rank + " gave the ranks " + ranks + ", another member gave " + scope.ranks;
            for (String tag : scope.tags()) {
                fail(key, scope, tag, Failure.of(Failure.Kind.MISMATCH, scope.mismatch));
            }
        }
        if (!scope.has(rank)) {
            return;
        }
        scope.declared.set(rank);
        for (int member : scope.ranks) {
            MemberState state = scope.state(member);
            if (state != MemberState.ALIVE) {
                tell(rank, key, member, state);
            }
        }
    }

    synchronized void contribute(int rank, String key, String tag, byte[] mine) {
        ScopeState scope = scopes.get(key);
        if (scope != null && !scope.mismatch.isEmpty()) {
            answer(rank, key, tag, Failure.of(Failure.Kind.MISMATCH, scope.mismatch));
            return;
        }
        if (scope == null || !scope.has(rank) || scope.state(rank) != MemberState.ALIVE) {
            answer(
                    rank,
                    key,
                    tag,
                    Failure.of(
                            Failure.Kind.MISUSE,
                            "this member does not belong, or no longer belongs, to this group or subgroup"));
            return;
        }
        if (!scope.add(tag, rank, mine)) {
            answer(rank, key, tag, Failure.of(Failure.Kind.MISUSE, "this member already takes part with this tag"));
            return;
        }
        if (scope.complete(tag)) {
            Result result = new Result(key, tag, scope.take(tag));
            formed |= key.equals(SETUP);
            for (int member : scope.ranks) {
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
            failIfHopeless(key, scope, tag);
        }
    }

    synchronized void giveUp(int rank, String key, String tag) {
        ScopeState scope = scopes.get(key);
        if (scope == null || !scope.has(rank) || !scope.takesPart(tag, rank)) {
            // Its result or failure is already on the way.
            return;
        }
        Failure failure = new Failure(Failure.Kind.MISSING, scope.missing(tag), "");
        scope.withdraw(tag, rank);
        answer(rank, key, tag, failure);
    }

    synchronized void leave(int rank, String key) {
        if (key.equals(ROOT)) {
            gone(rank, MemberState.LEFT, "it closed its bootstrap");
            return;
        }
        ScopeState scope = scopes.get(key);
        if (scope == null || !scope.has(rank) || !scope.mark(rank, MemberState.LEFT)) {
            return;
        }
        scope.tags().forEach(tag -> failIfHopeless(key, scope, tag));
        for (int member : scope.ranks) {
            if (member != rank && scope.declared.get(member)) {
                tell(member, key, rank, MemberState.LEFT);
            }
        }
        if (scope.over()) {
            scopes.remove(key);
        }
    }

    /** A member's process or connection ended. Before the members have met, it may come again. */
    synchronized void disconnected(int rank, String reason) {
        if (formed) {
            gone(rank, MemberState.LOST, reason);
        } else {
            inboxes.remove(rank);
            ScopeState setup = setup();
            setup.tags().forEach(tag -> setup.withdraw(tag, rank));
        }
    }

    /** Ends the start because rank 0 gave up; members that wait learn which ranks never connected. */
    synchronized void abandonSetup() {
        ScopeState setup = setup();
        List<Integer> absent = setup.ranks.stream()
                .filter(rank -> rank != 0 && !inboxes.containsKey(rank))
                .toList();
        for (String tag : setup.tags()) {
            List<Integer> named = absent.isEmpty() ? setup.missing(tag) : absent;
            fail(SETUP, setup, tag, new Failure(Failure.Kind.MISSING, named, "rank 0 gave up"));
        }
    }

    /** Members that the start still waits for. */
    synchronized List<Integer> missing() {
        return setup().missing(SETUP_TAG);
    }

    /** Waits until every member has gone; false when the deadline passed first. */
    synchronized boolean awaitEmpty(Deadline deadline) throws InterruptedException {
        while (!root().over()) {
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
        // A step that fails for want of memory leaves this to be called again, so none asks what another one has done.
        inboxes.remove(rank);
        for (ScopeState scope : scopes.values()) {
            if (scope.has(rank)) {
                scope.mark(rank, state);
            }
        }
        reasons.put(rank, reason);
        // Before the failures, so that a member which gets one finds the state that explains it.
        for (Inbox inbox : inboxes.values()) {
            try {
                inbox.news(ROOT, rank, state, reason);
            } catch (RuntimeException | Error e) {
                undelivered = e;
            }
        }
        scopes.forEach((key, scope) -> {
            if (scope.has(rank)) {
                scope.tags().forEach(tag -> failIfHopeless(key, scope, tag));
            }
        });
        scopes.entrySet()
                .removeIf(e -> !e.getKey().equals(ROOT)
                        && !e.getKey().equals(SETUP)
                        && e.getValue().over());
        gone.set(rank);
        notifyAll();
        throwUndelivered();
    }

    /** Throws what a member could not be given, once the others have it. */
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

    private void failIfHopeless(String key, ScopeState scope, String tag) {
        List<Integer> gone = scope.goneAndMissing(tag);
        if (!gone.isEmpty()) {
            // A dead member is the cause where others have left because of it.
            int first = gone.stream()
                    .filter(rank -> scope.state(rank) == MemberState.LOST)
                    .findFirst()
                    .orElse(gone.get(0));
            boolean lost = scope.state(first) == MemberState.LOST;
            Failure.Kind kind = lost ? Failure.Kind.LOST : Failure.Kind.LEFT;
            fail(key, scope, tag, new Failure(kind, List.of(first), reasons.getOrDefault(first, "")));
        }
    }

    private void fail(String key, ScopeState scope, String tag, Failure failure) {
        scope.drop(tag).forEach(member -> answer(member, key, tag, failure));
    }

    private void answer(int rank, String key, String tag, Failure failure) {
        Inbox inbox = inboxes.get(rank);
        if (inbox != null) {
            inbox.failed(key, tag, failure);
        }
    }

    private void tell(int receiver, String key, int rank, MemberState state) {
        Inbox inbox = inboxes.get(receiver);
        if (inbox != null) {
            inbox.news(key, rank, state, reasons.getOrDefault(rank, ""));
        }
    }

    private ScopeState root() {
        return scope(ROOT);
    }

    private ScopeState setup() {
        return scope(SETUP);
    }

    private ScopeState scope(String key) {
        ScopeState scope = scopes.get(key);
        if (scope == null) {
            throw new IllegalStateException("scope \"" + key + "\" is gone");
        }
        return scope;
    }

    /** One set of members, with the gathers that are under way in it. */
    private static final class ScopeState {
        private final List<Integer> ranks;
        private final Map<Integer, Integer> index = new HashMap<>();
        private final MemberState[] states;
        private final BitSet declared = new BitSet();
        /** By tag; each holds the bytes of those who took part, by place in the scope. */
        private final Map<String, TreeMap<Integer, byte[]>> gathers = new HashMap<>();

        private int gone;
        /** Why the scope cannot be used; empty when it can. */
        private String mismatch = "";

        ScopeState(List<Integer> ranks) {
            this.ranks = List.copyOf(ranks);
            for (int i = 0; i < this.ranks.size(); i++) {
                index.put(this.ranks.get(i), i);
            }
            states = new MemberState[this.ranks.size()];
            Arrays.fill(states, MemberState.ALIVE);
        }

        boolean has(int rank) {
            return index.containsKey(rank);
        }

        MemberState state(int rank) {
            return states[place(rank)];
        }

        /** Notes that a member has gone; false when that was known. */
        boolean mark(int rank, MemberState state) {
            int place = place(rank);
            if (states[place] != MemberState.ALIVE) {
                return false;
            }
            states[place] = state;
            gone++;
            return true;
        }

        /** True when no member is left that could still use the scope. */
        boolean over() {
            return gone == states.length;
        }

        /** Adds a part; false when the member had already taken part in this gather. */
        boolean add(String tag, int rank, byte[] part) {
            return gathers.computeIfAbsent(tag, t -> new TreeMap<>()).putIfAbsent(place(rank), part) == null;
        }

        boolean complete(String tag) {
            return gather(tag).size() == ranks.size();
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

        /** Ends a gather and gives its parts in the order of the members. */
        List<byte[]> take(String tag) {
            List<byte[]> parts = List.copyOf(gather(tag).values());
            gathers.remove(tag);
            return parts;
        }

        /** Ends a gather without a result and gives those who took part. */
        List<Integer> drop(String tag) {
            List<Integer> contributors =
                    gather(tag).keySet().stream().map(ranks::get).toList();
            gathers.remove(tag);
            return contributors;
        }

        /** Members that have not taken part. */
        List<Integer> missing(String tag) {
            return ranks.stream().filter(rank -> !takesPart(tag, rank)).toList();
        }

        /** Members that have gone without taking part; such a gather never completes. */
        List<Integer> goneAndMissing(String tag) {
            if (gone == 0) {
                return List.of();
            }
            return ranks.stream()
                    .filter(rank -> state(rank) != MemberState.ALIVE && !takesPart(tag, rank))
                    .toList();
        }

        List<String> tags() {
            return new ArrayList<>(gathers.keySet());
        }

        private Map<Integer, byte[]> gather(String tag) {
            return gathers.getOrDefault(tag, new TreeMap<>());
        }

        private int place(int rank) {
            Integer place = index.get(rank);
            if (place == null) {
                throw new IllegalArgumentException("rank " + rank + " is not among " + ranks);
            }
            return place;
        }
    }
}
