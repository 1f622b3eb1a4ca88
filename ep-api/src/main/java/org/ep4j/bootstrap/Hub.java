package org.ep4j.bootstrap;

import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.ep4j.spi.MemberState;
import org.jspecify.annotations.Nullable;

/**
 * Collects what members contribute and tells them about each other. It does no I/O and never waits for a member, so the
 * members of one JVM share one directly, and rank 0 serves one over TCP.
 */
final class Hub {
    /** Key of the scope of all members. */
    static final String ROOT = "";

    /** Key of the scope in which members wait for each other at the start; keys of subgroups begin with a digit. */
    static final String SETUP = "setup";

    /** Tag of the gather in which they do. */
    static final String SETUP_TAG = "start";

    private final Map<Integer, MemberInbox> inboxes = new HashMap<>();
    private final Map<String, HubScope> scopes = new HashMap<>();
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
            HubScope scope = new HubScope(all);
            all.forEach(scope::declare);
            scopes.put(key, scope);
        }
    }

    synchronized void attach(int rank, MemberInbox inbox) {
        inboxes.put(rank, inbox);
    }

    synchronized boolean formed() {
        return formed;
    }

    synchronized void declare(int rank, String key, List<Integer> ranks) {
        HubScope scope = scopes.get(key);
        if (scope == null) {
            scope = new HubScope(ranks);
            for (int member : ranks) {
                MemberState state = root().state(member);
                if (state != MemberState.ALIVE) {
                    scope.mark(member, state);
                }
            }
            scopes.put(key, scope);
        } else if (!scope.ranks().equals(ranks)) {
            scope.mismatch("rank " + rank + " gave the ranks " + ranks + ", another member gave " + scope.ranks());
            for (String tag : scope.tags()) {
                fail(key, scope, tag, Failure.of(Failure.Kind.MISMATCH, scope.mismatch()));
            }
        }
        if (!scope.has(rank)) {
            return;
        }
        scope.declare(rank);
        for (int member : scope.ranks()) {
            MemberState state = scope.state(member);
            if (state != MemberState.ALIVE) {
                tell(rank, key, member, state);
            }
        }
    }

    synchronized void contribute(int rank, String key, String tag, byte[] mine) {
        HubScope scope = scopes.get(key);
        if (scope != null && !scope.mismatch().isEmpty()) {
            answer(rank, key, tag, Failure.of(Failure.Kind.MISMATCH, scope.mismatch()));
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
            GatherResult result = new GatherResult(key, tag, scope.take(tag));
            formed |= key.equals(SETUP);
            for (int member : scope.ranks()) {
                MemberInbox inbox = inboxes.get(member);
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
        HubScope scope = scopes.get(key);
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
        HubScope scope = scopes.get(key);
        if (scope == null || !scope.has(rank) || !scope.mark(rank, MemberState.LEFT)) {
            return;
        }
        scope.tags().forEach(tag -> failIfHopeless(key, scope, tag));
        for (int member : scope.ranks()) {
            if (member != rank && scope.declaredBy(member)) {
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
            HubScope setup = setup();
            setup.tags().forEach(tag -> setup.withdraw(tag, rank));
        }
    }

    /** Ends the start because rank 0 gave up: who waits is told which ranks never came. */
    synchronized void abandonSetup() {
        HubScope setup = setup();
        List<Integer> absent = setup.ranks().stream()
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
        for (HubScope scope : scopes.values()) {
            if (scope.has(rank)) {
                scope.mark(rank, state);
            }
        }
        reasons.put(rank, reason);
        // Before the failures, so that a member which gets one finds the state that explains it.
        for (MemberInbox inbox : inboxes.values()) {
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

    private void failIfHopeless(String key, HubScope scope, String tag) {
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

    private void fail(String key, HubScope scope, String tag, Failure failure) {
        scope.drop(tag).forEach(member -> answer(member, key, tag, failure));
    }

    private void answer(int rank, String key, String tag, Failure failure) {
        MemberInbox inbox = inboxes.get(rank);
        if (inbox != null) {
            inbox.failed(key, tag, failure);
        }
    }

    private void tell(int receiver, String key, int rank, MemberState state) {
        MemberInbox inbox = inboxes.get(receiver);
        if (inbox != null) {
            inbox.news(key, rank, state, reasons.getOrDefault(rank, ""));
        }
    }

    private HubScope root() {
        return scope(ROOT);
    }

    private HubScope setup() {
        return scope(SETUP);
    }

    private HubScope scope(String key) {
        HubScope scope = scopes.get(key);
        if (scope == null) {
            throw new IllegalStateException("scope \"" + key + "\" is gone");
        }
        return scope;
    }
}
