package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.cli.soak.Member.State;

/**
 * Faults by which ranks are lost: kills, and stops beyond the timeouts. Survivors must agree and go on without them, and a
 * rank that comes back must be told that it is out, and return no wrong row.
 */
final class LossFlow implements FaultFlow {
    private static final Duration TOLD = Duration.ofSeconds(1);

    @Override
    public void run(RankGroup group) {
        Schedule.Round round = group.round();
        group.run(group.members(), IN_FLIGHT, 0);
        FaultFlow.awaitMoment(group);
        long start = System.nanoTime();
        inject(group);
        boolean goesOn = round.fault() == Fault.PARTITION ? recoverAlone(group, start) : recover(group, start);
        if (round.fault() == Fault.STOP || round.fault() == Fault.PARTITION) {
            comeBack(group, goesOn);
        } else if (goesOn) {
            group.runWell(group.survivors(), PROOF, 0);
        }
    }

    private static void inject(RankGroup group) {
        Schedule.Round round = group.round();
        for (Member victim : group.victims()) {
            if (victim != group.victims().get(0)) {
                Pause.millis(round.gapMillis());
            }
            if (round.fault() == Fault.STOP || round.fault() == Fault.PARTITION) {
                victim.handle().stop();
            } else {
                victim.expectEnd();
                victim.handle().kill();
            }
        }
    }

    /** True when all survivors have agreed that the victims, and nobody else, are lost. */
    private static boolean recover(RankGroup group, long start) {
        Set<Integer> lost = new TreeSet<>(group.round().victims());
        List<Member> survivors = group.survivors();
        boolean settled = group.goOn(
                survivors,
                IN_FLIGHT,
                () -> survivors.stream()
                        .allMatch(m -> m.is(State.RECOVERED) && m.masked().containsAll(lost)),
                group.limit(),
                "recovery from the loss of " + lost);
        if (!settled) {
            for (Member member : survivors) {
                if (member.is(State.OUT)) {
                    group.problem(Problem.Kind.FALSE_LOSS, member + " was not hit: " + member.lastFailure());
                } else if (member.is(State.GAVE_UP)) {
                    group.problem(
                            Problem.Kind.NOT_RECOVERED,
                            member + " after the loss of " + lost + ": " + member.lastFailure());
                }
            }
            return false;
        }
        group.statistics().recovered(group.round().fault(), Duration.ofNanos(System.nanoTime() - start));
        if (!survivors.stream().allMatch(m -> m.masked().equals(lost))) {
            group.problem(
                    Problem.Kind.DISAGREED,
                    "survivors of the loss of " + lost + " left out: "
                            + survivors.stream().map(m -> m + " " + m.masked()).collect(Collectors.joining("; ")));
            return false;
        }
        return true;
    }

    /** True when the one rank that is left goes on; it may also find that it is the other one that may. */
    private static boolean recoverAlone(RankGroup group, long start) {
        Member survivor = group.survivors().get(0);
        boolean settled = group.goOn(
                group.survivors(),
                IN_FLIGHT,
                () -> survivor.is(State.RECOVERED),
                group.limit(),
                "recovery of one rank of two");
        if (settled) {
            group.statistics().recovered(group.round().fault(), Duration.ofNanos(System.nanoTime() - start));
        } else if (survivor.is(State.GAVE_UP)) {
            group.problem(Problem.Kind.NOT_RECOVERED, survivor + ": " + survivor.lastFailure());
        }
        return settled;
    }

    /** Lets the victim go on after a while, when the others have recovered, as far as they have. */
    private static void comeBack(RankGroup group, boolean othersGoOn) {
        List<Member> others = group.survivors();
        if (othersGoOn && !runFor(group, others, Duration.ofMillis(group.round().heldMillis()))) {
            return;
        }
        Member victim = group.victims().get(0);
        int runsBefore = victim.runs();
        long start = System.nanoTime();
        victim.handle().resume();
        while (!isSettled(victim, runsBefore)) {
            if (System.nanoTime() - start > group.limit().toNanos()) {
                group.hang("what a rank does that was stopped and goes on");
                return;
            }
            if (victim.isReady()) {
                group.runAlone(victim, IN_FLIGHT);
            }
            if (othersGoOn && others.stream().allMatch(Member::isReady)) {
                group.run(others, PROOF, 0);
            }
            group.watch(Duration.ofMillis(5));
        }
        judge(group, victim, othersGoOn, Duration.ofNanos(victim.since() - start));
        if (othersGoOn && finish(group, others)) {
            group.runWell(others, PROOF, 0);
        }
    }

    /** True when the rank knows what it is: out, or so sure of itself that it has recovered and gone on. */
    private static boolean isSettled(Member victim, int runsBefore) {
        boolean goesOn = victim.is(State.IDLE) && victim.runs() > runsBefore + 2;
        boolean ended = !victim.isReady() && !victim.isBusy();
        return ended || goesOn || victim.is(State.RECOVERED);
    }

    private static void judge(RankGroup group, Member victim, boolean othersGoOn, Duration time) {
        if (victim.is(State.OUT)) {
            group.statistics().told(time);
            if (time.compareTo(TOLD) > 0) {
                group.problem(
                        Problem.Kind.NOT_TOLD,
                        victim + " was told after " + time.toMillis() + " ms that it is out, must be within "
                                + TOLD.toMillis() + " ms: " + victim.lastFailure());
            }
        } else if (victim.isReady() && othersGoOn) {
            group.problem(
                    Problem.Kind.SPLIT, victim + " goes on without " + victim.masked() + ", and the others without it");
        } else if (victim.is(State.GAVE_UP)) {
            group.problem(
                    Problem.Kind.NOT_TOLD,
                    victim + " could not recover, and was not told that it is out: " + victim.lastFailure());
        }
    }

    /** Runs for a while, in which nobody may fail. */
    private static boolean runFor(RankGroup group, List<Member> who, Duration time) {
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() - end < 0) {
            if (!group.runWell(who, PROOF, 0)) {
                return false;
            }
        }
        return true;
    }

    /** Waits until a run of others has ended, in which nobody may have failed. */
    private static boolean finish(RankGroup group, List<Member> others) {
        return group.ranWell(others, PROOF, System.nanoTime());
    }
}
