package org.ep4j.tck.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfigException;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpNoMajorityException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpResourceException;
import org.ep4j.EpShape;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpTraffic;
import org.ep4j.EpUnavailableException;
import org.ep4j.Recovery;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.GroupPlan;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.tck.ranks.Shell;
import org.ep4j.tck.rules.RandomExchanges;
import org.jspecify.annotations.Nullable;

/**
 * One round on one rank: exchanges on a group and a buffer of its own, each compared with the oracle, while the fault is injected. A rank
 * whose exchange fails recovers; the ranks that remain run a minimum of exchanges after their last recovery. A rank that the others left out
 * must get an exception that names it, and ends.
 */
final class SoakRound implements Scenario {
    /** Fact: number of exchanges that were compared. */
    static final String EXCHANGES = "exchanges";

    /** Fact: nanoseconds of each recovery. */
    static final String RECOVERIES = "recoveries";

    /** Fact: nanoseconds from when a stopped process continued until its rank found that it was left out. */
    static final String LEARNED = "learned";

    /** Fact: the element that differs from the oracle's. */
    static final String WRONG = "wrong";

    /** Fact: the operation that did not end in time. */
    static final String HANG = "hang";

    /** Fact: resources of this process that it did not hold before the round. */
    static final String LEAK = "leak";

    /** Fact: number of pairs of ports that this rank has given up. */
    static final String FAILOVERS = "failovers";

    /** Fact: after a partition, the members with which this rank continued. */
    static final String MEMBERS = "members";

    /** Fact: after a partition, why this rank did not continue. */
    static final String ENDED = "ended";

    /** Fact: why a buffer was refused that is too large. */
    static final String REFUSED = "refused";

    /** Fact: the setting that keeps the ranks from joining a group at all. */
    static final String SETTINGS = "settings";

    /** Fact: why the plan's fault cannot be injected on this machine. */
    static final String UNINJECTABLE = "uninjectable";

    /** Fact: what the machine lacks, so that the ranks cannot join a group at all. */
    static final String UNAVAILABLE = "unavailable";

    /** Longest time from the first exchange until the victims are left out and all exchanges are done. */
    private static final Duration LONGEST = Patience.scaled(Duration.ofSeconds(60));

    private static final Duration QUIET = Patience.scaled(Duration.ofSeconds(10));

    /** Longest time for which one of two ranks waits for an agreement after the other was stopped, and again after it has continued. */
    private static final Duration AGREEMENT = Patience.scaled(Duration.ofSeconds(1));

    /** Longest time until the thread that stops this process finds that the process has continued. */
    private static final Duration CONTINUED = Patience.scaled(Duration.ofSeconds(10));

    /** A gap in time that only a stop causes: no running thread is without a CPU core for so long. */
    private static final Duration SHORTEST_STOP = Soak.SILENCE.dividedBy(2);

    /** Longest change of a port's state. */
    private static final Duration PORT_TIMEOUT = Patience.scaled(Duration.ofSeconds(15));

    private static final int MOST_SKEW_MILLIS = 300;
    private static final int MOST_SLEEP_MILLIS = 20;

    private final List<String> recoveries = new ArrayList<>();
    private int exchanges;
    private boolean injected;
    /** Done when this rank's port, which was taken down, is up again. */
    private @Nullable FutureTask<@Nullable Void> portRestored;
    /** Time when this process continued after a stop; 0 before. */
    private volatile long continued;

    @Override
    public void run(RankContext context) {
        try {
            round(context, RoundPlan.of(context.params()));
        } catch (EpTimeoutException e) {
            context.fact(HANG, String.valueOf(e.getMessage()));
            throw e;
        }
    }

    private void round(RankContext context, RoundPlan plan) {
        // Allocates all that a process allocates only once, such as threads and libraries, before resources are
        // counted.
        try (EpBuffer first = kept(context).createBuffer(RandomExchanges.shape(context))) {
            compared(context, () -> RandomExchanges.warmUp(context, first));
        }
        if (plan.fault() == Fault.PORT_DOWN) {
            requirePorts(context);
        }
        context.barrier();
        ProcessResources before = ProcessResources.settled(QUIET);
        EpGroup group = context.newGroup(Map.of(EpKeys.FIRST_NUMBER.name(), Long.toString(plan.firstNumber())));
        EpBuffer buffer = group.createBuffer(RandomExchanges.shape(context));
        exchangeAndClose(context, plan, buffer, group);
        String leak = before.grown(QUIET);
        if (!leak.isEmpty()) {
            context.fact(LEAK, leak);
        }
    }

    /** A step at the end of a round, also of a failed one, whose failure it must not replace. */
    private interface Cleanup extends AutoCloseable {
        @Override
        void close();
    }

    @SuppressWarnings("try") // closed in reverse order, and not used before
    private void exchangeAndClose(RankContext context, RoundPlan plan, EpBuffer buffer, EpGroup group) {
        try (Cleanup last = () -> close(context, plan, buffer, group);
                Cleanup second = () -> restorePorts(context, plan, group);
                Cleanup first = () -> resumeStopped(context, plan, buffer)) {
            context.barrier();
            if (plan.fault() == Fault.PARTITION) {
                partition(context, plan, buffer);
            } else {
                exchange(context, plan, buffer);
            }
        }
    }

    /** Resumes the victims, since a process that stays stopped would count as hung. */
    private static void resumeStopped(RankContext context, RoundPlan plan, EpBuffer buffer) {
        if (plan.fault().stopsForLong() && !plan.victims().contains(context.rank())) {
            resumeVictims(plan, buffer);
        }
    }

    private void restorePorts(RankContext context, RoundPlan plan, EpGroup group) {
        if (plan.fault() == Fault.PORT_DOWN) {
            awaitPorts(plan, ports(group));
            context.fact(FAILOVERS, Integer.toString(failovers(group)));
        }
    }

    /** Returns the group that ranks keep between rounds. */
    private static EpGroup kept(RankContext context) {
        try {
            return context.group();
        } catch (EpConfigException e) {
            context.fact(SETTINGS, String.valueOf(e.getMessage()));
            throw e;
        } catch (EpUnavailableException e) {
            context.fact(UNAVAILABLE, String.valueOf(e.getMessage()));
            throw e;
        }
    }

    private static void requirePorts(RankContext context) {
        Optional<String> refusal = RocePort.refusal(RocePort.ROOT, ports(context.group()));
        if (refusal.isPresent()) {
            context.fact(UNINJECTABLE, refusal.get());
            throw new EpUnavailableException(refusal.get());
        }
    }

    private static int failovers(EpGroup group) {
        return group.traffic().stream().mapToInt(EpTraffic::failovers).sum();
    }

    private static void close(RankContext context, RoundPlan plan, EpBuffer buffer, EpGroup group) {
        List<Runnable> steps = new ArrayList<>(List.of(buffer::close, group::close));
        if (plan.fault() == Fault.CLOSE) {
            Random random = closing(plan, context.rank());
            Collections.shuffle(steps, random);
            steps.add(0, () -> context.sleep(Duration.ofMillis(random.nextInt(MOST_SKEW_MILLIS))));
            steps.add(2, () -> context.sleep(Duration.ofMillis(random.nextInt(MOST_SKEW_MILLIS))));
        }
        steps.forEach(Runnable::run);
    }

    /** Returns a generator for the order and times in which a rank closes its buffer and group. */
    static Random closing(RoundPlan plan, int rank) {
        return RoundPlan.random(31 * plan.seed() + rank);
    }

    /** Runs exchanges until the round is done, or the others have left this rank out. */
    private void exchange(RankContext context, RoundPlan plan, EpBuffer buffer) {
        Set<Integer> expected = plan.fault().lost() > 0 ? new TreeSet<>(plan.victims()) : Set.of();
        boolean outlives = outlives(context, plan);
        long end = System.nanoTime() + LONGEST.toNanos();
        long seed = plan.seed();
        int index = 0;
        while (index < plan.exchanges() || !buffer.maskedRanks().equals(expected)) {
            if (System.nanoTime() - end >= 0) {
                context.fact(HANG, "the round");
                throw new AssertionError(LONGEST.toSeconds() + " s after the first exchange, the ranks left out are "
                        + buffer.maskedRanks() + ", must be " + expected + "; exchanges done since the last recovery: "
                        + index
                        + ", must be at least " + plan.exchanges());
            }
            boolean late = continued != 0;
            Optional<EpException> failed = attempt(context, plan, buffer, seed, index);
            if (failed.isEmpty()) {
                mustBe(
                        !late,
                        "the others left this rank out while its process was stopped, but an exchange that this rank began later has succeeded",
                        null);
                index++;
                if (plan.fault() == Fault.STOP
                        && index == plan.exchanges() / 2
                        && !buffer.maskedRanks().isEmpty()) {
                    resumeVictims(plan, buffer);
                }
                continue;
            }
            EpException failure = failed.get();
            if (isAboutThis(context, failure)) {
                foundLeftOut(context, plan, outlives, failure);
                return;
            }
            mustBe(!expected.isEmpty(), "no rank was lost, but an exchange failed: " + failure.getMessage(), failure);
            Recovery recovery;
            try {
                recovery = recover(context, buffer);
            } catch (EpPeerLostException left) {
                mustBe(isAboutThis(context, left), "recovery failed: " + left.getMessage(), left);
                foundLeftOut(context, plan, outlives, left);
                return;
            }
            mustBe(
                    !outlives,
                    "the others must leave this rank out, but it recovered, without ranks " + recovery.masked(),
                    failure);
            mustBe(
                    expected.containsAll(recovery.masked()),
                    "the recovery left out ranks " + recovery.masked() + ", which must all be among " + expected,
                    failure);
            seed = seedAfter(plan, recovery);
            index = 0;
        }
        mustBe(!outlives, "the others must leave this rank out, but it took part until the end", null);
    }

    /** Returns whether this rank is left out and stays alive. One that is killed may recover from another loss before. */
    private static boolean outlives(RankContext context, RoundPlan plan) {
        return plan.fault().needsRecovery()
                && !plan.fault().kills()
                && plan.victims().contains(context.rank());
    }

    /** Returns the seed of the exchanges after a recovery: the same on all members, and another one than before. */
    private static long seedAfter(RoundPlan plan, Recovery recovery) {
        return 31 * plan.seed() + recovery.masked().hashCode() + 1;
    }

    /**
     * Runs one exchange, and injects the fault before the exchange that the plan names.
     *
     * @return the failure of the exchange
     */
    private Optional<EpException> attempt(RankContext context, RoundPlan plan, EpBuffer buffer, long seed, int index) {
        if (index == plan.begin() && !injected) {
            injected = true;
            if (plan.fault() == Fault.FULL) {
                refuseTooLarge(context, buffer);
            }
            inject(context, plan, buffer);
        }
        long began = System.nanoTime();
        try {
            exchange(context, plan, buffer, seed, index);
            return Optional.empty();
        } catch (EpException failure) {
            requireInTime(context, plan, failure, System.nanoTime() - began);
            return Optional.of(failure);
        }
    }

    /**
     * Runs exchanges until one of two ranks is stopped. The other may not continue meanwhile. Afterwards each rank continues with the members
     * of the next agreement, if there is one: a rank that the rendezvous has declared lost stays lost, so usually there is none.
     */
    private void partition(RankContext context, RoundPlan plan, EpBuffer buffer) {
        EpException failure = failing(context, plan, buffer);
        if (plan.victims().contains(context.rank())) {
            requireStopped(context, failure);
        } else {
            try {
                Recovery alone = buffer.recover(AGREEMENT);
                throw new AssertionError(
                        "this rank went on alone, without rank " + alone.masked()
                                + ", although that rank was only stopped",
                        failure);
            } catch (EpNoMajorityException expected) {
                resumeVictims(plan, buffer);
            }
        }
        Recovery recovery;
        try {
            recovery = buffer.recover(AGREEMENT);
        } catch (EpNoMajorityException | EpTimeoutException none) {
            context.fact(ENDED, String.valueOf(none.getMessage()));
            return;
        } catch (EpPeerLostException left) {
            mustBe(isAboutThis(context, left), "recovery failed: " + left.getMessage(), left);
            context.fact(ENDED, String.valueOf(left.getMessage()));
            return;
        }
        for (int index = 0; index < plan.exchanges(); index++) {
            exchange(context, plan, buffer, seedAfter(plan, recovery), index);
        }
        context.fact(
                MEMBERS,
                IntStream.range(0, context.size())
                        .filter(rank -> !recovery.masked().contains(rank))
                        .boxed()
                        .toList()
                        .toString());
    }

    /** Returns the failure of the first exchange that fails. */
    private EpException failing(RankContext context, RoundPlan plan, EpBuffer buffer) {
        long end = System.nanoTime() + LONGEST.toNanos();
        for (int index = 0; System.nanoTime() - end < 0; index++) {
            Optional<EpException> failure = attempt(context, plan, buffer, plan.seed(), index);
            if (failure.isPresent()) {
                // A rank may still be at the end of the previous exchange.
                mustBe(
                        index >= plan.begin() - 1,
                        "no rank was stopped yet, but an exchange failed: "
                                + failure.get().getMessage(),
                        failure.get());
                return failure.get();
            }
        }
        context.fact(HANG, "the round");
        throw new AssertionError(LONGEST.toSeconds()
                + " s after the first exchange, no exchange has failed, although the process of a rank is stopped");
    }

    private void foundLeftOut(RankContext context, RoundPlan plan, boolean victim, EpException failure) {
        mustBe(
                victim,
                "this rank was left out, although the others need not recover without it: " + failure.getMessage(),
                failure);
        if (plan.fault() != Fault.STOP) {
            return;
        }
        long now = System.nanoTime();
        requireStopped(context, failure);
        context.fact(LEARNED, Long.toString(Math.max(0, now - continued)));
    }

    /** Checks that this process was stopped, which the thread that stops it may notice a moment later than others. */
    private void requireStopped(RankContext context, EpException failure) {
        long end = System.nanoTime() + CONTINUED.toNanos();
        while (continued == 0 && System.nanoTime() - end < 0) {
            context.sleep(Duration.ofMillis(1));
        }
        mustBe(
                continued != 0,
                "this rank was considered lost although its process was not stopped: " + failure.getMessage(),
                failure);
    }

    /** Rethrows a timeout, which only operations that hang reach: losses are found before, except by a rank that is left out and alive. */
    private static void requireInTime(RankContext context, RoundPlan plan, EpException failure, long nanos) {
        Duration longest = EpKeys.TIMEOUT.get(context.config(Map.of()));
        if (failure instanceof EpTimeoutException late && !outlives(context, plan) && nanos >= longest.toNanos() / 2) {
            throw late;
        }
    }

    private void exchange(RankContext context, RoundPlan plan, EpBuffer buffer, long seed, int index) {
        if (plan.fault() == Fault.SLOW && plan.victims().contains(context.rank())) {
            context.sleep(Duration.ofMillis(RoundPlan.random(seed + index).nextInt(MOST_SLEEP_MILLIS)));
        }
        compared(context, () -> RandomExchanges.exchange(context, buffer, seed, index));
        exchanges++;
        context.fact(EXCHANGES, Integer.toString(exchanges));
    }

    private static void compared(RankContext context, Runnable exchange) {
        try {
            exchange.run();
        } catch (AssertionError wrong) {
            context.fact(WRONG, String.valueOf(wrong.getMessage()));
            throw wrong;
        }
    }

    private Recovery recover(RankContext context, EpBuffer buffer) {
        long start = System.nanoTime();
        Recovery recovery = buffer.recover(LONGEST);
        recoveries.add(Long.toString(System.nanoTime() - start));
        context.fact(RECOVERIES, String.join(",", recoveries));
        return recovery;
    }

    private static boolean isAboutThis(RankContext context, EpException failure) {
        return failure instanceof EpPeerLostException lost && lost.failure().peer() == context.rank();
    }

    private static void mustBe(boolean holds, String otherwise, @Nullable Throwable cause) {
        if (!holds) {
            throw new AssertionError(otherwise, cause);
        }
    }

    /** Injects the fault on this rank, if it is a victim: victims do so themselves, to be in an exchange when it happens. */
    private void inject(RankContext context, RoundPlan plan, EpBuffer buffer) {
        int place = plan.victims().indexOf(context.rank());
        if (place < 0) {
            return;
        }
        switch (plan.fault()) {
            case KILL, DOUBLE_KILL ->
                context.schedule(place == 0 ? plan.delay() : plan.delay().plus(plan.gap()), context::die);
            case STOP, PARTITION -> context.schedule(plan.delay(), this::stop);
            case PAUSE -> context.schedule(plan.delay(), () -> Shell.pauseThisProcess(plan.gap()));
            case PORT_DOWN -> portDown(context, plan, ports(buffer.group()));
            case RESET -> context.schedule(plan.delay(), () -> Forwarder.requestReset(System.getenv()));
            case NONE, SLOW, CLOSE, FULL -> {}
        }
    }

    /** Takes down one of the ports that this rank's plan uses. Once this method returns, traffic has to use the others. */
    private void portDown(RankContext context, RoundPlan plan, List<String> ports) {
        RocePort port = RocePort.of(RocePort.ROOT, ports.get(Math.floorMod(plan.seed(), ports.size())))
                .orElseThrow();
        FutureTask<@Nullable Void> down = new FutureTask<>(() -> port.takeDown(plan.gap(), PORT_TIMEOUT), null);
        portRestored = down;
        context.schedule(Duration.ZERO, down);
        port.await(false, PORT_TIMEOUT, down::isDone);
        if (down.isDone()) {
            awaitRestored(down, Duration.ZERO, ports);
        }
    }

    private static List<String> ports(EpGroup group) {
        return group.plan().nics(group.rank());
    }

    /** Waits until the ports of this rank are up again, which the next round needs. */
    private void awaitPorts(RoundPlan plan, List<String> ports) {
        if (portRestored != null) {
            awaitRestored(portRestored, plan.gap().plus(PORT_TIMEOUT).plus(RocePort.UP), ports);
        }
        for (String port : ports) {
            RocePort.of(RocePort.ROOT, port).ifPresent(one -> one.await(true, PORT_TIMEOUT, () -> false));
        }
    }

    private static void awaitRestored(FutureTask<@Nullable Void> restored, Duration longest, List<String> ports) {
        try {
            restored.get(longest.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a port of " + ports + " was down", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(
                    "a port of " + ports + " could not be taken down and up again", e.getCause());
        } catch (TimeoutException e) {
            throw new IllegalStateException(
                    "a port of " + ports + " did not come up again within " + longest.toSeconds() + " s", e);
        }
    }

    /** Requests a buffer that is larger than an address space, which every rank must be refused. */
    private static void refuseTooLarge(RankContext context, EpBuffer buffer) {
        EpShape large = EpShape.builder(EpShape.MAX_HIDDEN, context.size(), 1)
                .maxTokens(EpShape.MAX_TOKENS)
                .build();
        try (EpBuffer made = buffer.group().createBuffer(large)) {
            throw new AssertionError("a buffer of " + made.size() + " was created, but must be refused");
        } catch (EpResourceException | EpUnavailableException refused) {
            // A rank gets the second if another one was refused first.
            context.fact(REFUSED, String.valueOf(refused.getMessage()));
        }
    }

    /**
     * Stops this process, and records when it continues. Threads may run on for a moment after the signal, so this waits for a gap in
     * time.
     */
    private void stop() {
        long last = System.nanoTime();
        long end = last + LONGEST.toNanos();
        Shell.stopThisProcess();
        while (last - end < 0) {
            long now = System.nanoTime();
            if (now - last > SHORTEST_STOP.toNanos()) {
                continued = now;
                return;
            }
            last = now;
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static void resumeVictims(RoundPlan plan, EpBuffer buffer) {
        plan.victims()
                .forEach(rank -> Shell.resume(
                        GroupPlan.of(buffer.group().plan()).profiles().get(rank).pid()));
    }
}
