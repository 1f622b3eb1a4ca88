package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
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
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Ranks that do not call an operation, are masked, close their group or die. */
final class FailureScenario implements Scenario {
    /** Timeout of operations that a rank does not call; all others may take as long as the machine needs. */
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    /** Factor of the next timeout where one was too short for the ranks that do call. */
    private static final int LONGER = 4;

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

    /** Joins a group of this rule alone, since later rules could not use the group any more. */
    private static EpGroup own(RankContext context) {
        return context.newGroup(Map.of());
    }

    private static EpBuffer buffer(RankContext context, EpGroup group) {
        return new Setup(context, PARAMS).buffer(group);
    }

    private static Operation brief(RankContext context, EpBuffer buffer, Duration timeout) {
        return new Operation(context.params().text("op", ""), context, buffer, timeout);
    }

    /** The last rank does not call the operation; the others get an exception in time, and all recover. */
    private static void timeout(RankContext context) {
        Duration timeout = TIMEOUT;
        while (!timeout(context, timeout)) {
            timeout = timeout.multipliedBy(LONGER);
        }
    }

    /** Returns false where a rank that does call was too late for others, which says nothing about the absent one. */
    private static boolean timeout(RankContext context, Duration timeout) {
        EpBuffer buffer = buffer(context, own(context));
        int absent = context.size() - 1;
        try (Operation operation = brief(context, buffer, timeout)) {
            Runnable call = operation.prepare();
            context.barrier();
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
        if (other && timeout.multipliedBy(LONGER).compareTo(Checks.patience()) < 0) {
            return false;
        }
        // A barrier may time out as a whole, when other ranks have given up, too.
        boolean whole = barrier && failure.peer() == -1;
        Checks.that(whole || failure.peer() == absent, "peer() is " + failure.peer() + " in: " + late.getMessage());
        Checks.mentions(late, "rank " + absent);
        return true;
    }

    /** Returns whether the buffers of the subject cannot move to new memory. */
    private static boolean isFixed(RankContext context) {
        return context.params().has("fixed");
    }

    private static void refuseRecovery(EpBuffer buffer) {
        Checks.refused(
                EpUnavailableException.class,
                "recovery of a buffer that cannot move to new memory",
                () -> buffer.recover(Checks.patience()));
    }

    private static void recoverAll(RankContext context, EpBuffer buffer, Operation operation) {
        Recovery recovery = buffer.recover(Checks.patience());
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

    /** The last rank calls the operation when the others have given up and recover: it must get an exception. */
    private static void tooLate(RankContext context) {
        EpBuffer buffer = buffer(context, own(context));
        int late = context.size() - 1;
        try (Operation operation = brief(context, buffer, TIMEOUT)) {
            Runnable call = operation.prepare();
            context.barrier();
            if (!context.isRank(late)) {
                Checks.refused(EpTimeoutException.class, "an operation that one rank does not call", call);
            }
            context.barrier();
            if (context.isRank(late)) {
                EpTimeoutException refused = Checks.refused(
                        EpTimeoutException.class, "an operation that the other ranks no longer wait for", call);
                Checks.mentions(refused, "recover");
            }
            recoverAll(context, buffer, operation);
            operation.verifyRest();
        }
    }

    private static void createTimeout(RankContext context) {
        EpGroup group = joinWithShortTimeout(context);
        int absent = context.size() - 1;
        if (!context.isRank(absent)) {
            EpException late = Checks.refused(
                    EpTimeoutException.class,
                    "a buffer that one rank does not create",
                    () -> group.createBuffer(new Setup(context, PARAMS).shape()));
            Checks.mentions(late, Integer.toString(absent));
            Checks.equal("recourse() of the EpTimeoutException", late.recourse(), EpException.Recourse.REJOIN);
        }
        context.barrier();
    }

    /** Joins a group with a short timeout of set-up; joining may take longer than the first timeout, so the next ones are longer. */
    private static EpGroup joinWithShortTimeout(RankContext context) {
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
            // A rank that fails makes the others fail, too, by its loss or with its reason.
            if (timeout.compareTo(Checks.patience()) > 0) {
                throw e;
            }
            return Optional.empty();
        }
    }

    /** Victims die before, inside or during a loop of the operation; the others continue without them. */
    private static void kill(RankContext context) {
        Set<Integer> victims = new TreeSet<>(context.params().numbers("victims"));
        EpGroup group = context.group();
        EpBuffer buffer = buffer(context, group);
        try (Operation operation = brief(context, buffer, Checks.patience())) {
            Runnable call = operation.prepare();
            context.barrier();
            if (victims.contains(0)) {
                awaitRankZero(context);
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
            Recovery recovery = buffer.recover(Checks.patience());
            while (!recovery.masked().containsAll(victims)) {
                // The second death may be found only after the recovery from the first one.
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
                    EpPeerLostException.class,
                    "clearing the mask of a dead rank",
                    () -> buffer.clearMasks(Checks.patience()));
            int masked = gone.failure().peer();
            Checks.that(victims.contains(masked), "peer() is " + masked + ", must be one of " + victims);
            Checks.equal("its recourse()", gone.recourse(), EpException.Recourse.FIX_CALL);
        }
    }

    /** Runs a second barrier, after which all have the result of the first one: rank 0, which dies now, carries the bootstrap. */
    private static void awaitRankZero(RankContext context) {
        try {
            context.barrier();
        } catch (EpException e) {
            if (context.isRank(0)) {
                throw e;
            }
        }
    }

    /** Waits until the group reports the deaths, which a backend may have found before the group. */
    private static void awaitReport(EpGroup group, Set<Integer> victims) {
        long end = System.nanoTime() + Checks.patience().toNanos();
        while (!group.lostRanks().containsAll(victims) && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** Runs a barrier, which leaves out the dead, unless one of them carried the bootstrap. */
    private static void barrier(EpGroup group, Set<Integer> victims) {
        try {
            group.barrier(Checks.patience());
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
        return buffer.recover(Checks.patience());
    }

    private static void die(RankContext context, EpGroup group, Set<Integer> victims, Runnable call) {
        String when = context.params().text("when", "before");
        int last = firstSurvivor(context, victims);
        if (victims.contains(context.rank())) {
            switch (when) {
                case "before" -> context.die();
                case "inside" -> {
                    // One survivor calls the operation only when this rank is dead, so this rank cannot complete it
                    // before.
                    context.schedule(UNTIL_DEATH, context::die);
                    call.run();
                }
                default -> context.schedule(UNTIL_DEATH, context::die);
            }
        } else if (when.equals("inside") && context.isRank(last)) {
            awaitReport(group, victims);
        }
    }

    private static int firstSurvivor(RankContext context, Set<Integer> victims) {
        return IntStream.range(0, context.size())
                .filter(rank -> !victims.contains(rank))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no rank survives"));
    }

    private static void repeat(Runnable call) {
        long end = System.nanoTime() + Checks.patience().toNanos();
        while (System.nanoTime() < end) {
            call.run();
        }
    }

    /** A rank that is alive is masked for a while, and unmasked. */
    private static void mask(RankContext context) {
        EpBuffer buffer = buffer(context, context.group());
        HighThroughputExchange.run(context, buffer, PARAMS);
        for (int out : new int[] {context.size() - 1, 0}) {
            if (!context.isRank(out)) {
                buffer.mask(out);
                Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of(out));
                layoutLeavesOut(context, buffer, out);
                HighThroughputExchange.run(context, buffer, Params.parse("drop=0.1 dup=0.2 bias=1"));
                HighThroughputExchange.run(context, buffer, Params.parse("layout=BY_EXPERT align=4"));
                LowLatencyExchange.run(context, buffer, Params.parse("dup=0.2 max=64 tokens=8 seed=4"));
                LowLatencyExchange.run(context, buffer, Params.parse("precision=RANK_PARTIAL"));
            }
            context.barrier();
            buffer.clearMasks(Checks.patience());
            Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of());
            HighThroughputExchange.run(context, buffer, PARAMS);
            LowLatencyExchange.run(context, buffer, PARAMS);
        }
    }

    /** A rank that is alive is masked between a dispatch and its combine, to which it adds nothing. */
    private static void maskLate(RankContext context) {
        EpBuffer buffer = buffer(context, context.group());
        for (String params : List.of(
                "bias=1",
                "layout=BY_EXPERT align=4 precision=EXACT",
                "layout=BY_EXPERT align=4 precision=RANK_PARTIAL")) {
            for (int out : new int[] {context.size() - 1, 0}) {
                maskLate(context, buffer, Params.parse("dup=0.2 tokens=12 seed=6 " + params), out);
                context.barrier();
                buffer.clearMasks(Checks.patience());
            }
        }
    }

    private static void maskLate(RankContext context, EpBuffer buffer, Params params, int out) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, params)) {
            // Writes the rows of the rank where a combine that ignores the mask would find them.
            exchange.round();
            DispatchHandle handle = exchange.dispatch().handle();
            context.barrier();
            if (!context.isRank(out)) {
                buffer.mask(out);
                exchange.verify(exchange.combine(handle), Set.of(out));
            }
        }
    }

    /** Masking a rank that has not combined yet is a recovery, since that rank may have begun to write. */
    private static void maskUncombined(RankContext context) {
        int out = context.size() - 1;
        for (String precision : List.of("EXACT", "RANK_PARTIAL")) {
            EpBuffer buffer = buffer(context, own(context));
            Params params = Params.parse("dup=0.2 tokens=12 seed=6 precision=" + precision);
            try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, params)) {
                // Writes the rows of the rank, in both banks, where a combine that ignores the mask would find them.
                exchange.round();
                exchange.round();
                LowLatencyHandle handle = exchange.dispatch().handle();
                context.barrier();
                if (context.isRank(out)) {
                    // Its combine may fail because others recover, so this rank calls recover().
                    EpPeerLostException lost = Checks.refused(
                            EpPeerLostException.class,
                            "recover() called by the rank that was masked",
                            () -> buffer.recover(Checks.patience()));
                    Checks.equal(
                            "peer() of the exception from recover()",
                            lost.failure().peer(),
                            out);
                    Checks.equal("its recourse()", lost.recourse(), EpException.Recourse.REJOIN);
                } else {
                    buffer.mask(out);
                    exchange.verify(exchange.combine(handle), Set.of(out));
                    LowLatencyExchange.run(context, buffer, PARAMS);
                }
            }
            context.barrier();
        }
    }

    private static void layoutLeavesOut(RankContext context, EpBuffer buffer, int out) {
        Workload workload = new Setup(context, PARAMS).workload();
        int seen = buffer.dispatchLayout(new Inputs(context.arena(), workload).ids(context.rank(), DataType.INT32))
                .tokensToRank(out);
        Checks.equal("tokensToRank(" + out + ") of a masked rank", seen, 0);
    }

    /** A rank closes its group while the others still need it. */
    private static void leave(RankContext context) {
        EpGroup group = own(context);
        EpBuffer buffer = buffer(context, group);
        int leaver = context.size() - 1;
        HighThroughputExchange.run(context, buffer, PARAMS);
        context.barrier();
        if (context.isRank(leaver)) {
            group.close();
        } else {
            EpPeerLostException lost = Checks.refused(
                    EpPeerLostException.class,
                    "a dispatch after another rank has closed its group",
                    () -> HighThroughputExchange.run(context, buffer, PARAMS));
            Checks.equal("peer()", lost.failure().peer(), leaver);
        }
        context.barrier();
    }
}
