package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpNoMajorityException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.tck.ranks.Shell;

/**
 * The process of the last rank is stopped in an exchange, for longer than the heartbeat timeout, and continues later. The others must
 * continue without it, and it must get an exception that names itself. Parameter {@code rounds}: exchanges of those that continue.
 */
final class StoppedRankScenario implements Scenario {
    private static final Duration UNTIL_STOP = Duration.ofMillis(300);
    /** Timeout of a recovery that cannot succeed. */
    private static final Duration BRIEF = Duration.ofSeconds(1);

    private static final Duration LONG = Patience.scaled(Duration.ofMinutes(1));

    @Override
    public void run(RankContext context) {
        EpBuffer buffer = Setup.of(context, "").buffer();
        int stopped = context.size() - 1;
        if (context.isRank(stopped)) {
            context.schedule(UNTIL_STOP, Shell::stopThisProcess);
        }
        EpException failure = Checks.refused(
                EpException.class, "a loop of exchanges in which the process of one rank is stopped", () -> {
                    for (int round = 0; true; round++) {
                        exchange(context, buffer, round);
                    }
                });
        if (context.size() == 2) {
            noRankContinues(context, buffer);
        } else if (context.isRank(stopped)) {
            isNotified(context, buffer, failure);
        } else {
            othersContinue(context, buffer, stopped);
        }
    }

    private static int rounds(RankContext context) {
        return context.params().number("rounds", 30);
    }

    private static void exchange(RankContext context, EpBuffer buffer, int round) {
        HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
        LowLatencyExchange.run(context, buffer, Params.parse("seed=" + round));
    }

    private static void othersContinue(RankContext context, EpBuffer buffer, int stopped) {
        Recovery recovery = buffer.recover(LONG);
        Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(stopped));
        for (int round = 0; round < rounds(context); round++) {
            if (round == rounds(context) / 3 && context.isRank(0)) {
                Shell.resume(context.plan().profiles().get(stopped).pid());
            }
            exchange(context, buffer, round);
        }
        EpPeerLostException kept = Checks.refused(
                EpPeerLostException.class,
                "clearing the mask of the rank whose process was stopped",
                () -> buffer.clearMasks(LONG));
        Checks.equal("peer() of the exception from clearMasks()", kept.failure().peer(), stopped);
    }

    /** The rank that was stopped gets an exception that names itself, now and in every later recovery. */
    private static void isNotified(RankContext context, EpBuffer buffer, EpException failure) {
        EpException last = failure;
        if (!(last instanceof EpPeerLostException lost && lost.failure().peer() == context.rank())) {
            // It may find first that its connections are lost.
            last = Checks.refused(
                    EpException.class,
                    "recover() called by a rank that the others left out",
                    () -> buffer.recover(LONG));
        }
        Checks.that(
                last instanceof EpPeerLostException lost && lost.failure().peer() == context.rank(),
                "this rank must get an EpPeerLostException that names itself, because the others left it out, but got "
                        + last);
        EpPeerLostException next =
                Checks.refused(EpPeerLostException.class, "the next recovery", () -> buffer.recover(LONG));
        Checks.equal("peer() of the exception from recover()", next.failure().peer(), context.rank());
        Checks.equal("its recourse()", next.recourse(), EpException.Recourse.REJOIN);
    }

    /** Neither of two ranks may continue alone, until the other one is proved dead. */
    private static void noRankContinues(RankContext context, EpBuffer buffer) {
        if (context.isRank(1)) {
            Checks.refused(
                    EpException.class,
                    "recover() by one of two ranks, while the other does not take part,",
                    () -> buffer.recover(BRIEF));
            context.die();
        }
        Checks.refused(
                EpNoMajorityException.class,
                "recover() by one of two ranks, while the other does not take part,",
                () -> buffer.recover(BRIEF));
        Shell.resume(context.plan().profiles().get(1).pid());
        Recovery recovery = recoverOnceTheOtherIsDead(buffer);
        Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(1));
        for (int round = 0; round < rounds(context); round++) {
            exchange(context, buffer, round);
        }
    }

    private static Recovery recoverOnceTheOtherIsDead(EpBuffer buffer) {
        long end = System.nanoTime() + LONG.toNanos();
        while (true) {
            try {
                return buffer.recover(BRIEF);
            } catch (EpNoMajorityException | EpTimeoutException e) {
                // The proof of the death may arrive too late for the rest of this recovery.
                if (System.nanoTime() - end >= 0) {
                    throw e;
                }
            }
        }
    }
}
