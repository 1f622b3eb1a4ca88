package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Recovery;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;

/** Ranks that do not come, are left out, leave or die. */
final class FailureScenario implements Scenario {
    /** Of operations that a rank does not call; all others may take as long as the machine needs. */
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    /** What is too short for the ranks that come is tried again, so many times as long. */
    private static final int LONGER = 4;

    private static final Duration RECOVERY = Duration.ofSeconds(60);
    private static final Duration UNTIL_DEATH = Duration.ofMillis(300);
    private static final Params PARAMS = Params.parse("");

    @Override
    public void run(RankContext context) {
        switch (context.params().text("case", "")) {
            case "timeout" -> timeout(context);
            case "create-timeout" -> createTimeout(context);
            case "too-late" -> tooLate(context);
            case "kill" -> kill(context);
            case "mask" -> mask(context);
            case "mask-late" -> maskLate(context);
            case "mask-uncombined" -> maskUncombined(context);
            case "leave" -> leave(context);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static Duration recovery() {
        return Patience.here(RECOVERY);
    }

    /** A group of the rule alone: others would be left with what the rule does to it. */
    private static EpGroup own(RankContext context) {
        return context.newGroup(Map.of());
    }

    private static EpBuffer buffer(RankContext context, EpGroup group) {
        return context.owned(group.createBuffer(new Setup(PARAMS, context.size()).shape()));
    }

    private static Operation brief(RankContext context, EpBuffer buffer, Duration timeout) {
        return new Operation(context.params().text("op", ""), context, buffer, timeout);
    }

    /** The last rank does not call the operation; the others are told in time, and all recover. */
    private static void timeout(RankContext context) {
        Duration timeout = TIMEOUT;
        while (!timeout(context, timeout)) {
            timeout = timeout.multipliedBy(LONGER);
        }
    }

    /** False where a rank that came was later than others waited for it, which says nothing about the absent one. */
    private static boolean timeout(RankContext context, Duration timeout) {
        EpBuffer buffer = buffer(context, own(context));
        int absent = context.size() - 1;
        try (Operation operation = brief(context, buffer, timeout)) {
            Runnable call = operation.prepare();
            context.meet();
            boolean inTime = context.isRank(absent) || isAbsentNamed(context, absent, call, timeout);
            if (context.count(inTime) < context.size()) {
                return false;
            }
            if (isFixed(context)) {
                refuseRecovery(buffer);
            } else {
                recoverAll(context, buffer, operation);
                operation.verifyRest();
            }
            return true;
        }
    }

    private static boolean isAbsentNamed(RankContext context, int absent, Runnable call, Duration timeout) {
        EpTimeoutException late =
                Checks.refused(EpTimeoutException.class, "an operation that one rank does not call", call);
        EpFailure failure = late.failure();
        Checks.that(
                !failure.phase().isBlank(),
                "phase() of the EpTimeoutException is blank, must name what this rank waited for");
        boolean barrier = context.params().text("op", "").equals("barrier");
        // No recovery makes ranks call the same barrier again.
        Checks.equal(
                "recourse() of the EpTimeoutException",
                late.recourse(),
                barrier ? EpException.Recourse.REJOIN : EpException.Recourse.RECOVER);
        boolean other = failure.peer() >= 0 && failure.peer() < absent && !context.isRank(failure.peer());
        if (other && timeout.multipliedBy(LONGER).compareTo(recovery()) < 0) {
            return false;
        }
        // A barrier is waited for as a whole: at the deadline others may have given up as well.
        boolean whole = barrier && failure.peer() == -1;
        Checks.that(whole || failure.peer() == absent, "peer() is " + failure.peer() + " in: " + late.getMessage());
        Checks.mentions(late, "rank " + absent);
        return true;
    }

    /** Whether the buffers of the subject cannot move into fresh memory. */
    private static boolean isFixed(RankContext context) {
        return context.params().has("fixed");
    }

    private static void refuseRecovery(EpBuffer buffer) {
        Checks.refused(
                EpUnavailableException.class,
                "recovery of a buffer that cannot move to new memory",
                () -> buffer.recover(recovery()));
    }

    private static void recoverAll(RankContext context, EpBuffer buffer, Operation operation) {
        Recovery recovery = buffer.recover(recovery());
        Checks.equal("ranks that recovery masked", recovery.masked(), Set.of());
        Checks.reported(recovery, context.size());
        if (operation.countsExactly()) {
            for (int rank = 0; rank < context.size(); rank++) {
                Checks.equal(
                        "number of completed operations of rank " + rank,
                        recovery.completed(rank),
                        Operation.COMPLETED_BEFORE);
            }
        }
    }

    /** The others have given up and recover when the last rank calls the operation: it is told so. */
    private static void tooLate(RankContext context) {
        EpBuffer buffer = buffer(context, own(context));
        int late = context.size() - 1;
        try (Operation operation = brief(context, buffer, TIMEOUT)) {
            Runnable call = operation.prepare();
            context.meet();
            if (!context.isRank(late)) {
                Checks.refused(EpTimeoutException.class, "an operation that one rank does not call", call);
            }
            context.meet();
            if (context.isRank(late)) {
                EpTimeoutException told = Checks.refused(
                        EpTimeoutException.class, "an operation that the other ranks no longer wait for", call);
                Checks.mentions(told, "recover");
            }
            recoverAll(context, buffer, operation);
            operation.verifyRest();
        }
    }

    private static void createTimeout(RankContext context) {
        EpGroup group = briefSetup(context);
        int absent = context.size() - 1;
        if (!context.isRank(absent)) {
            EpException late = Checks.refused(
                    EpTimeoutException.class,
                    "a buffer that one rank does not create",
                    () -> group.createBuffer(new Setup(PARAMS, context.size()).shape()));
            Checks.mentions(late, Integer.toString(absent));
            Checks.equal("recourse() of the EpTimeoutException", late.recourse(), EpException.Recourse.REJOIN);
        }
        context.meet();
    }

    /** A group with a short timeout of set-up, which joining has to keep, too: the next one is longer where it is too short. */
    private static EpGroup briefSetup(RankContext context) {
        for (Duration timeout = TIMEOUT; ; timeout = timeout.multipliedBy(LONGER)) {
            Optional<EpGroup> group = joined(context, timeout);
            if (context.count(group.isPresent()) == context.size()) {
                return group.orElseThrow();
            }
        }
    }

    private static Optional<EpGroup> joined(RankContext context, Duration timeout) {
        try {
            return Optional.of(context.newGroup(Map.of(EpKeys.SETUP_TIMEOUT.name(), timeout.toMillis() + "ms")));
        } catch (EpTimeoutException | EpPeerLostException | EpUnavailableException e) {
            // The others get the loss, or what stopped this rank, as their error.
            if (timeout.compareTo(recovery()) > 0) {
                throw e;
            }
            return Optional.empty();
        }
    }

    /** Victims die before, inside or somewhere in a loop of the operation; the others go on without them. */
    private static void kill(RankContext context) {
        Set<Integer> victims = new TreeSet<>(context.params().numbers("victims"));
        EpGroup group = context.group();
        EpBuffer buffer = buffer(context, group);
        try (Operation operation = brief(context, buffer, Checks.patience())) {
            Runnable call = operation.prepare();
            context.meet();
            if (victims.contains(0)) {
                awaitTold(context);
            }
            EpPeerLostException lost =
                    Checks.refused(EpPeerLostException.class, "an operation with a dead rank", () -> {
                        die(context, group, victims, call);
                        repeat(call);
                    });
            int dead = lost.failure().peer();
            Checks.that(victims.contains(dead), "peer() is " + dead + ", must be one of " + victims);
            Checks.mentions(lost, "rank " + dead);
            Checks.that(
                    !lost.failure().phase().isBlank(),
                    "phase() of the EpPeerLostException is blank, must name what this rank was doing");
            Checks.equal("recourse() of the EpPeerLostException", lost.recourse(), EpException.Recourse.RECOVER);
            if (isFixed(context)) {
                refuseRecovery(buffer);
                return;
            }
            Recovery recovery = buffer.recover(recovery());
            while (!recovery.masked().containsAll(victims)) {
                // The second death may become known after the first one was recovered from.
                recovery = recoverFromNext(operation, buffer);
            }
            Checks.equal("ranks that recovery masked", recovery.masked(), victims);
            Checks.equal("masked ranks of the buffer", buffer.maskedRanks(), victims);
            awaitReport(group, victims);
            Checks.equal("lost ranks of the group", group.lostRanks(), victims);
            Checks.reported(recovery, context.size());
            operation.verifyRest();
            if (context.params().has("device")) {
                StreamScenario.deviceWorks(context, buffer);
            }
            if (context.params().has("barrier")) {
                barrier(group, victims);
            }
            EpPeerLostException gone = Checks.refused(
                    EpPeerLostException.class, "clearing the mask of a dead rank", () -> buffer.clearMasks(recovery()));
            int masked = gone.failure().peer();
            Checks.that(victims.contains(masked), "peer() is " + masked + ", must be one of " + victims);
            Checks.equal("its recourse()", gone.recourse(), EpException.Recourse.FIX_CALL);
        }
    }

    /** Rank 0 carries the bootstrap: when all have told it something else, they have got what it told them last, and it may die. */
    private static void awaitTold(RankContext context) {
        try {
            context.meet();
        } catch (EpException e) {
            if (context.isRank(0)) {
                throw e;
            }
        }
    }

    /** A backend may find a death before the group does, which hears of it by a way of its own. */
    private static void awaitReport(EpGroup group, Set<Integer> victims) {
        long end = System.nanoTime() + recovery().toNanos();
        while (!group.lostRanks().containsAll(victims) && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** A barrier leaves out the dead, unless one of them carried the bootstrap. */
    private static void barrier(EpGroup group, Set<Integer> victims) {
        try {
            group.barrier(recovery());
        } catch (EpPeerLostException e) {
            Checks.that(victims.contains(0) && e.failure().peer() == 0, "a barrier without " + victims + " threw " + e);
            Checks.equal("its recourse()", e.recourse(), EpException.Recourse.REJOIN);
        }
    }

    private static Recovery recoverFromNext(Operation operation, EpBuffer buffer) {
        Checks.refused(EpPeerLostException.class, "operations while the second of two killed ranks dies", () -> {
            while (true) {
                operation.verifyRest();
            }
        });
        return buffer.recover(recovery());
    }

    private static void die(RankContext context, EpGroup group, Set<Integer> victims, Runnable call) {
        String when = context.params().text("when", "before");
        int latecomer = firstSurvivor(context, victims);
        if (victims.contains(context.rank())) {
            switch (when) {
                case "before" -> context.die();
                case "inside" -> {
                    // A survivor comes when this rank is dead, so this rank cannot be through by then.
                    context.dieAfter(UNTIL_DEATH);
                    call.run();
                }
                default -> context.dieAfter(UNTIL_DEATH);
            }
        } else if (when.equals("inside") && context.isRank(latecomer)) {
            awaitReport(group, victims);
        }
    }

    private static int firstSurvivor(RankContext context, Set<Integer> victims) {
        int survivor = 0;
        while (victims.contains(survivor)) {
            survivor++;
        }
        Checks.that(survivor < context.size(), "nobody survives");
        return survivor;
    }

    private static void repeat(Runnable call) {
        long end = System.nanoTime() + recovery().toNanos();
        while (System.nanoTime() < end) {
            call.run();
        }
    }

    /** A living rank is left out for a while and taken back. */
    private static void mask(RankContext context) {
        EpBuffer buffer = buffer(context, context.group());
        LifecycleScenario.highThroughput(context, buffer, PARAMS);
        for (int out : new int[] {context.size() - 1, 0}) {
            if (!context.isRank(out)) {
                buffer.mask(out);
                Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of(out));
                layoutLeavesOut(context, buffer, out);
                LifecycleScenario.highThroughput(context, buffer, Params.parse("drop=0.1 dup=0.2 bias=1"));
                LifecycleScenario.highThroughput(context, buffer, Params.parse("layout=BY_EXPERT align=4"));
                LifecycleScenario.lowLatency(context, buffer, Params.parse("dup=0.2 max=64 tokens=8 seed=4"));
                LifecycleScenario.lowLatency(context, buffer, Params.parse("precision=RANK_PARTIAL"));
            }
            context.meet();
            buffer.clearMasks(recovery());
            Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of());
            LifecycleScenario.highThroughput(context, buffer, PARAMS);
            LifecycleScenario.lowLatency(context, buffer, PARAMS);
        }
    }

    /** A living rank is left out between a dispatch and its combine: of what it has sent before, nothing is added. */
    private static void maskLate(RankContext context) {
        EpBuffer buffer = buffer(context, context.group());
        for (String params : List.of(
                "bias=1",
                "layout=BY_EXPERT align=4 precision=EXACT",
                "layout=BY_EXPERT align=4 precision=RANK_PARTIAL")) {
            for (int out : new int[] {context.size() - 1, 0}) {
                Params drawn = Params.parse("dup=0.2 tokens=12 seed=6 " + params);
                Workload workload = new Setup(drawn, context.size()).workload();
                maskLate(context, buffer, workload, HighThroughputOptions.of(drawn), out);
                context.meet();
                buffer.clearMasks(recovery());
            }
        }
    }

    private static void maskLate(
            RankContext context, EpBuffer buffer, Workload workload, HighThroughputOptions options, int out) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, workload, options)) {
            // Its rows are where a combine that forgot the mask would find them.
            exchange.round();
            DispatchHandle handle = exchange.dispatch().handle();
            context.meet();
            if (!context.isRank(out)) {
                buffer.mask(out);
                exchange.verifier.combine(
                        exchange.combine(handle, workload.randomOutputs()),
                        new CombineOracle(workload, workload.randomOutputs(), Set.of(out)),
                        workload,
                        context.rank(),
                        options.want());
            }
        }
    }

    /** Masks a rank whose combine is still to come, which is a recovery: that rank may have begun it, and write. */
    private static void maskUncombined(RankContext context) {
        int out = context.size() - 1;
        for (String precision : List.of("EXACT", "RANK_PARTIAL")) {
            EpBuffer buffer = buffer(context, own(context));
            Params drawn = Params.parse("dup=0.2 tokens=12 seed=6 precision=" + precision);
            Workload workload = new Setup(drawn, context.size()).workload();
            LowLatencyOptions options = LowLatencyOptions.of(drawn);
            try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, workload, options)) {
                // In both banks: its rows are where a combine that forgot the mask would find them.
                exchange.round();
                exchange.round();
                LowLatencyHandle handle = exchange.dispatch().handle();
                context.meet();
                if (context.isRank(out)) {
                    // A combine may end with the news that others recover, and asks for a recovery here.
                    EpPeerLostException lost = Checks.refused(
                            EpPeerLostException.class,
                            "recover() called by the rank that was masked",
                            () -> buffer.recover(recovery()));
                    Checks.equal(
                            "peer() of the exception from recover()",
                            lost.failure().peer(),
                            out);
                    Checks.equal("its recourse()", lost.recourse(), EpException.Recourse.REJOIN);
                } else {
                    buffer.mask(out);
                    new Verifier(exchange.arena)
                            .combine(
                                    exchange.combine(handle, workload.randomOutputs()),
                                    new CombineOracle(workload, workload.randomOutputs(), Set.of(out)),
                                    workload,
                                    context.rank(),
                                    options.precision());
                    LifecycleScenario.lowLatency(context, buffer, PARAMS);
                }
            }
            context.meet();
        }
    }

    private static void layoutLeavesOut(RankContext context, EpBuffer buffer, int out) {
        Workload workload = new Setup(PARAMS, context.size()).workload();
        int seen = buffer.dispatchLayout(new Inputs(context.arena(), workload).ids(context.rank(), DataType.INT32))
                .tokensToRank(out);
        Checks.equal("tokensToRank(" + out + ") of a masked rank", seen, 0);
    }

    /** A rank leaves in good order while the others still need it. */
    private static void leave(RankContext context) {
        EpGroup group = own(context);
        EpBuffer buffer = buffer(context, group);
        int leaver = context.size() - 1;
        LifecycleScenario.highThroughput(context, buffer, PARAMS);
        context.meet();
        if (context.isRank(leaver)) {
            group.close();
        } else {
            EpPeerLostException lost = Checks.refused(
                    EpPeerLostException.class,
                    "a dispatch after another rank has closed its group",
                    () -> LifecycleScenario.highThroughput(context, buffer, PARAMS));
            Checks.equal("peer()", lost.failure().peer(), leaver);
        }
        context.meet();
    }
}
