package org.ep4j.cli.soak;

import java.util.Set;

/** A rank of a round, as its answers show it. */
final class Member {
    private final RankHandle handle;
    private final int rank;
    private State state = State.JOINING;
    private long since = System.nanoTime();
    private Set<Integer> masked = Set.of();
    private String lastFailure = "";
    private int runs;
    private int lastRun;
    private boolean endExpected;

    /** Where a rank is. */
    enum State {
        /** Joins, or creates a buffer. */
        JOINING,
        /** Waits for an order, after an order that ended well. */
        IDLE,
        /** Waits for an order, after a recovery. */
        RECOVERED,
        /** Exchanges. */
        RUNNING,
        /** Recovers. */
        BROKEN,
        /** Was told that it is out. */
        OUT,
        /** Could not recover. */
        GAVE_UP,
        /** Has no buffer. */
        REFUSED,
        /** Threw what it may not. */
        FAILED,
        /** Has closed its group. */
        CLOSED,
        /** Its process has ended. */
        DEAD
    }

    Member(RankHandle handle, int rank) {
        this.handle = handle;
        this.rank = rank;
    }

    RankHandle handle() {
        return handle;
    }

    int rank() {
        return rank;
    }

    State state() {
        return state;
    }

    boolean is(State one) {
        return state == one;
    }

    /** True where it waits for orders with a buffer that works. */
    boolean isReady() {
        return state == State.IDLE || state == State.RECOVERED;
    }

    /** True where it does something that must end. */
    boolean isBusy() {
        return state == State.JOINING || state == State.RUNNING || state == State.BROKEN;
    }

    void enter(State next) {
        state = next;
        since = System.nanoTime();
    }

    /** When it came to its state, as {@link System#nanoTime}. */
    long since() {
        return since;
    }

    /** Ranks that its last recovery left out. */
    Set<Integer> masked() {
        return masked;
    }

    void masked(Set<Integer> ranks) {
        masked = Set.copyOf(ranks);
    }

    /** The exception that it told last. */
    String lastFailure() {
        return lastFailure;
    }

    void lastFailure(String text) {
        lastFailure = text;
    }

    /** Starts a run. */
    void begin(int run) {
        lastRun = run;
        enter(State.RUNNING);
    }

    /** The run that it was ordered last. */
    int lastRun() {
        return lastRun;
    }

    /** Runs that have ended well. */
    int runs() {
        return runs;
    }

    void ran() {
        runs++;
    }

    /** Its process is about to be killed. */
    void expectEnd() {
        endExpected = true;
    }

    boolean isEndExpected() {
        return endExpected;
    }

    @Override
    public String toString() {
        return "rank " + rank + " (process " + handle.number() + ", " + state + ")";
    }
}
