package org.ep4j.engine.membership;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * Ranks on a few hosts that agree on memberships, over a network that loses, delays, repeats and reorders messages, while ranks
 * are killed (also between the change of their state, its storing and its sending), stop and continue, suspect each other without
 * a reason and learn late of deaths on their host. Then all of this ends, and what can be decided has to be. Checks after every
 * step what must always hold.
 */
final class AgreementSimulation {
    /** Makes a rank's part in the agreement. */
    interface Maker {
        MembershipAgreement make(int self, Membership first, long delay);
    }

    /** What has happened, so that a test can see that its schedules are not empty. */
    record Outcome(int ranks, long epochs, int kills, int proofs, boolean alone) {}

    /** A rule does not hold. */
    static final class Violation extends AssertionError {
        private static final long serialVersionUID = 1;

        Violation(long seed, String what, List<String> last) {
            super("seed " + seed + ": " + what + "\n  " + String.join("\n  ", last));
        }
    }

    private static final long DELAY = 100;
    private static final int ROUNDS = 400;
    private static final int TRACED = 60;

    private record InFlight(int from, int to, AgreementMessage message) {}

    private final long seed;
    private final Random random;
    private final int ranks;
    private final int[] host;
    private final MembershipAgreement[] agreement;
    /** By sender and receiver: whether messages take much longer than others. */
    private final boolean[][] isSlow;

    private final AcceptorRecord[] stored;
    private final boolean[] killed;
    private final boolean[] stopped;
    /** By rank: the ranks that it was shown to be dead. */
    private final List<Set<Integer>> shown = new ArrayList<>();

    /** By rank: the memberships that it has known. */
    private final List<Set<Membership>> learned = new ArrayList<>();

    private final List<InFlight> network = new ArrayList<>();
    private final Map<Long, Membership> decided = new HashMap<>();
    /** Memberships that only killed ranks have known when others decided without them. */
    private final Set<Membership> forgotten = new HashSet<>();

    /** Values that were proposed, by epoch. */
    private final Map<Long, Set<List<RankStatus>>> proposed = new HashMap<>();

    private final List<String> trace = new ArrayList<>();
    /** So many in a hundred steps kill their rank before the new state is stored, and as many after that. */
    private final int crashes;

    private final int mostKills;
    /** Whether a newer message replaces those of the same sender that have not arrived, as in a slot of memory. */
    private final boolean isOverwriting;

    /** Whether ranks also take for dead what was killed on another host, without its record. */
    private final boolean isVouching;

    private final boolean isTraced;
    private boolean isHealing;
    private long now;
    private int kills;
    private int proofs;

    private AgreementSimulation(long seed, Maker maker, boolean isTraced) {
        this.seed = seed;
        this.isTraced = isTraced;
        random = new Random(seed);
        crashes = random.nextInt(4);
        long delay = random.nextBoolean() ? DELAY : DELAY / 20;
        ranks = 1 + random.nextInt(7);
        isOverwriting = random.nextBoolean();
        isVouching = random.nextInt(3) == 0;
        mostKills = isVouching ? ranks - 1 : random.nextInt(ranks);
        int hosts = 1 + random.nextInt(isVouching ? 6 : 3);
        host = new int[ranks];
        agreement = new MembershipAgreement[ranks];
        isSlow = new boolean[ranks][ranks];
        int slow = random.nextInt(2) * 50;
        for (boolean[] from : isSlow) {
            for (int to = 0; to < ranks; to++) {
                from[to] = random.nextInt(100) < slow;
            }
        }
        stored = new AcceptorRecord[ranks];
        killed = new boolean[ranks];
        stopped = new boolean[ranks];
        Membership first = Membership.first(ranks);
        decided.put(0L, first);
        for (int r = 0; r < ranks; r++) {
            host[r] = random.nextInt(hosts);
            agreement[r] = maker.make(r, first, delay);
            stored[r] = agreement[r].record();
            shown.add(new HashSet<>());
            learned.add(new HashSet<>(Set.of(first)));
        }
    }

    /**
     * Runs the schedule of a seed.
     *
     * @throws Violation which has the last steps of the schedule
     */
    static Outcome run(long seed, Maker maker) {
        try {
            return new AgreementSimulation(seed, maker, false).run();
        } catch (Violation e) {
            return new AgreementSimulation(seed, maker, true).run();
        }
    }

    private Outcome run() {
        int steps = 20 + random.nextInt(400);
        for (int i = 0; i < steps; i++) {
            chaos();
        }
        heal();
        long epochs = decided.keySet().stream().mapToLong(e -> e).max().orElseThrow();
        return new Outcome(ranks, epochs, kills, proofs, decided.get(epochs).size() == 1 && ranks > 1);
    }

    private void chaos() {
        int r = random.nextInt(ranks);
        int what = random.nextInt(100);
        if (what < 2) {
            killSome(r);
        } else if (what < 5) {
            stopped[r] = !stopped[r];
            trace(r, stopped[r] ? "stops" : "continues");
        } else if (what < 60) {
            if (!network.isEmpty()) {
                InFlight next = network.get(random.nextInt(network.size()));
                int fate = random.nextInt(20);
                if (isSlow[next.from][next.to] && fate > 0) {
                    return;
                }
                if (fate > 2) {
                    network.remove(next);
                }
                if (fate != 3) {
                    deliver(next);
                }
            }
        } else if (isRunning(r)) {
            if (what < 65) {
                int other = random.nextInt(ranks);
                if (other != r) {
                    suspect(r, other, random.nextInt(3) == 0 ? RankStatus.SILENT : RankStatus.MEMBER);
                }
            } else if (what < 72) {
                prove(r);
            } else if (what < 82) {
                step(
                        r,
                        "begins",
                        () -> agreement[r].begin(agreement[r].membership().epoch()));
            } else {
                now += random.nextInt((int) DELAY);
                step(r, "ticks", () -> agreement[r].tick(now));
            }
        }
    }

    /** The network is well, and each rank suspects those that are gone; what can be decided has to be. */
    private void heal() {
        isHealing = true;
        trace.add("all is well from here on");
        network.clear();
        for (int r = 0; r < ranks; r++) {
            stopped[r] &= random.nextBoolean();
        }
        for (int round = 0; round < ROUNDS && (round < 3 || (canDecide() && !isDone())); round++) {
            now += DELAY / 4;
            for (int r = 0; r < ranks; r++) {
                int rank = r;
                if (isRunning(r)) {
                    for (int other = 0; other < ranks; other++) {
                        RankStatus wanted = isRunning(other) ? RankStatus.MEMBER : RankStatus.SILENT;
                        if (other != r && round < 2) {
                            suspect(r, other, wanted);
                        }
                    }
                    prove(r);
                    if (!isSettled(r)) {
                        step(
                                r,
                                "begins",
                                () -> agreement[rank].begin(
                                        agreement[rank].membership().epoch()));
                    }
                    step(r, "ticks", () -> agreement[rank].tick(now));
                    send(r);
                }
            }
            while (!network.isEmpty()) {
                deliver(network.remove(random.nextInt(network.size())));
            }
        }
        requireProgress();
    }

    /** True if the rank knows a membership of running ranks, or that it is left out. */
    private boolean isSettled(int rank) {
        Membership membership = agreement[rank].membership();
        for (int r = 0; r < ranks; r++) {
            if (membership.has(r) && !isRunning(r)) {
                return !membership.has(rank);
            }
        }
        return true;
    }

    private Membership newest() {
        Membership newest = Membership.first(ranks);
        for (int r = 0; r < ranks; r++) {
            if (isRunning(r) && agreement[r].membership().epoch() > newest.epoch()) {
                newest = agreement[r].membership();
            }
        }
        return newest;
    }

    /** True if the running members are more than half of those that nobody can prove dead. */
    private boolean canDecide() {
        Membership newest = newest();
        int running = 0;
        int living = 0;
        int provable = 0;
        for (int r = 0; r < ranks; r++) {
            if (newest.has(r)) {
                running += isRunning(r) ? 1 : 0;
                living += killed[r] ? 0 : 1;
                provable += killed[r] && hasWitness(r, newest) ? 1 : 0;
            }
        }
        // A record that is not read when others take its rank for dead is none.
        boolean allLivingRun = running > 0 && running == living;
        return isVouching ? allLivingRun || 2 * running > newest.size() : 2 * running > newest.size() - provable;
    }

    /** True if all running ranks know the newest membership, which is one of running ranks only. */
    private boolean isDone() {
        Membership newest = newest();
        for (int r = 0; r < ranks; r++) {
            if (isRunning(r) && !(agreement[r].membership().equals(newest) && isSettled(r))) {
                return false;
            }
        }
        return true;
    }

    private void requireProgress() {
        if (canDecide()) {
            Membership newest = newest();
            for (int r = 0; r < ranks; r++) {
                if (isRunning(r)) {
                    require(
                            agreement[r].membership().equals(newest),
                            "rank " + r + " knows " + agreement[r].membership() + " where others know " + newest);
                    require(isSettled(r), "rank " + r + " does not agree on a successor of " + newest);
                }
            }
        }
    }

    /** A running member on the host of a rank that was killed. */
    private boolean hasWitness(int rank, Membership membership) {
        for (int r = 0; r < ranks; r++) {
            if (isRunning(r) && host[r] == host[rank] && membership.has(r)) {
                return true;
            }
        }
        return false;
    }

    private boolean isRunning(int rank) {
        return !killed[rank] && !stopped[rank];
    }

    /** Kills a rank, and sometimes most of the ranks on its host with it. */
    private void killSome(int rank) {
        boolean isAlone = random.nextBoolean();
        for (int r = 0; r < ranks; r++) {
            if (!killed[r]
                    && kills < mostKills
                    && (r == rank || (!isAlone && (isVouching || host[r] == host[rank]) && random.nextInt(3) > 0))) {
                kill(r);
            }
        }
    }

    private void kill(int rank) {
        killed[rank] = true;
        kills++;
        trace(rank, "is killed");
    }

    private void suspect(int rank, int other, RankStatus reason) {
        step(rank, "takes a rank for " + reason, () -> agreement[rank].suspect(other, reason));
    }

    private void prove(int rank) {
        for (int other = 0; other < ranks; other++) {
            int dead = other;
            if (!isRunning(rank) || !killed[other] || shown.get(rank).contains(other)) {
                continue;
            }
            if (host[other] == host[rank]) {
                shown.get(rank).add(other);
                proofs++;
                step(rank, "is shown that " + other + " is dead", () -> agreement[rank].proveDead(dead, stored[dead]));
            } else if (isVouching && (isHealing || random.nextBoolean())) {
                shown.get(rank).add(other);
                step(rank, "takes " + other + " for dead without a record", () -> agreement[rank].vouchDead(dead));
            }
        }
    }

    private void deliver(InFlight next) {
        if (isRunning(next.to)) {
            step(next.to, "receives from " + next.from, () -> agreement[next.to].receive(next.from, next.message));
        }
    }

    /** One input of a rank, then what its owner does: store, send. It may be killed before, between and after these. */
    private void step(int rank, String what, Runnable input) {
        AcceptorRecord before = agreement[rank].record();
        input.run();
        boolean isChanged = !agreement[rank].record().equals(before);
        if (isTraced) {
            trace(rank, what + (isChanged ? ": " + agreement[rank].record() : ""));
        }
        check(rank);
        int fate = isHealing || kills == mostKills ? 2 * crashes : random.nextInt(100);
        if (fate < crashes) {
            kill(rank);
            return;
        }
        stored[rank] = agreement[rank].record();
        if (fate < 2 * crashes) {
            kill(rank);
        } else if (isChanged || fate >= 80) {
            send(rank);
        }
    }

    private void send(int rank) {
        AgreementMessage message = agreement[rank].message();
        if (isOverwriting) {
            network.removeIf(older -> older.from == rank);
        }
        for (int r = 0; r < ranks; r++) {
            if (r != rank) {
                network.add(new InFlight(rank, r, message));
            }
        }
    }

    private void check(int rank) {
        Membership membership = agreement[rank].membership();
        Membership known = decided.putIfAbsent(membership.epoch(), membership);
        if (known != null && isVouching && !known.equals(membership) && isKnownToTheDeadOnly(known)) {
            requireForgotten(membership.epoch());
            decided.put(membership.epoch(), membership);
            known = null;
        }
        require(!forgotten.contains(membership), "it learns what only the dead have known: " + membership);
        learned.get(rank).add(membership);
        require(
                known == null || known.equals(membership),
                "two memberships of epoch " + membership.epoch() + ": " + known + " and " + membership);
        Set<List<RankStatus>> values = proposed.computeIfAbsent(membership.epoch() - 1, e -> new HashSet<>());
        if (known == null && values.add(membership.statuses())) {
            requireLiving(rank, membership.statuses(), decided.get(membership.epoch() - 1));
        }
        Vote accepted = agreement[rank].record().accepted();
        if (accepted.ballot() != Vote.NO_BALLOT
                && proposed.computeIfAbsent(membership.epoch(), e -> new HashSet<>())
                        .add(accepted.value())) {
            requireLiving(rank, accepted.value(), membership);
        }
    }

    /** What the dead have decided from an epoch on is void, and nobody that lives knows it. */
    private void requireForgotten(long epoch) {
        decided.values().removeIf(older -> {
            boolean later = older.epoch() >= epoch;
            if (later) {
                require(isKnownToTheDeadOnly(older), "two branches from epoch " + epoch + ": " + older);
                forgotten.add(older);
            }
            return later;
        });
        proposed.keySet().removeIf(later -> later >= epoch);
    }

    /** Those that take others for dead without their records forget what only these have decided. */
    private boolean isKnownToTheDeadOnly(Membership membership) {
        for (int r = 0; r < ranks; r++) {
            if (!killed[r] && learned.get(r).contains(membership)) {
                return false;
            }
        }
        return true;
    }

    /** Holds of a value when it is proposed; the rank is the one that proposes it. */
    private void requireLiving(int rank, List<RankStatus> value, Membership membership) {
        for (int r = 0; r < ranks; r++) {
            if (value.get(r) == RankStatus.MEMBER) {
                require(
                        !shown.get(rank).contains(r),
                        "rank " + rank + " proposes rank " + r + ", which it knows to be dead");
                require(membership.has(r), "rank " + rank + " proposes rank " + r + ", which is no member");
            }
        }
    }

    private void require(boolean holds, String what) {
        if (!holds) {
            trace.add("hosts " + Arrays.toString(host));
            throw new Violation(seed, what, trace.subList(Math.max(0, trace.size() - TRACED), trace.size()));
        }
    }

    private void trace(int rank, String what) {
        if (isTraced) {
            trace.add(now + " rank " + rank + " " + what);
        }
    }
}
