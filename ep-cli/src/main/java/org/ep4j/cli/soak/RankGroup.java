package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.cli.soak.Member.State;
import org.ep4j.cli.soak.RankHandle.Event;

/** The ranks of one round: orders runs, follows answers and collects problems. Used by one thread. */
final class RankGroup {
    /** A rank that has recovered waits no longer for one that has not before it goes on alone, as a program would. */
    private static final long GOES_ON_NANOS = Duration.ofMillis(300).toNanos();

    private static final Duration STACKS = Duration.ofSeconds(3);
    private static final Duration MARGIN = Duration.ofSeconds(20);

    /** Longest time that a rank's process takes to start. */
    private static final Duration START = Duration.ofSeconds(60);

    /** An operation and recoveries, each of which has a deadline. */
    private static final int WAITS = 5;

    private final SoakSpec spec;
    private final Schedule.Round round;
    private final Crew crew;
    private final Statistics statistics;
    private final Findings findings;
    private final List<Member> members;
    private final Map<RankHandle, Member> byHandle;
    private final SplittableRandom random;
    private int lastRun;
    private OptionalInt recoveredRun = OptionalInt.empty();
    private long exchangeNanos = Duration.ofMillis(10).toNanos();
    private boolean troubled;

    RankGroup(SoakSpec spec, Schedule.Round round, Crew crew, Statistics statistics, Findings findings) {
        this.spec = spec;
        this.round = round;
        this.crew = crew;
        this.statistics = statistics;
        this.findings = findings;
        List<RankHandle> taken = crew.take(round.ranks(), round.number());
        this.members = IntStream.range(0, taken.size())
                .mapToObj(rank -> new Member(taken.get(rank), rank))
                .toList();
        this.byHandle =
                members.stream().collect(Collectors.toMap(Member::handle, m -> m, (a, b) -> a, LinkedHashMap::new));
        this.random = new SplittableRandom(round.seed());
    }

    List<Member> members() {
        return members;
    }

    List<Member> victims() {
        return round.victims().stream().map(members::get).toList();
    }

    List<Member> survivors() {
        return members.stream().filter(m -> !round.victims().contains(m.rank())).toList();
    }

    Schedule.Round round() {
        return round;
    }

    SoakSpec spec() {
        return spec;
    }

    Statistics statistics() {
        return statistics;
    }

    /** Random numbers of the round. */
    SplittableRandom random() {
        return random;
    }

    /** True when something happened that must not, after which the ranks' processes serve no longer. */
    boolean isTroubled() {
        return troubled;
    }

    void problem(Problem.Kind kind, String text) {
        troubled = true;
        Problem problem = new Problem(kind, round.number(), round.fault(), text);
        statistics.problem(problem);
        findings.note(problem);
    }

    /** Joins a group through a port of the loopback interface, and creates a buffer. */
    boolean join(int port, int portOfOthers) {
        for (Member member : members) {
            member.enter(State.JOINING);
            member.handle()
                    .send(new Order.Join(
                            member.rank(),
                            members.size(),
                            member.rank() == 0 ? port : portOfOthers,
                            spec.settings(),
                            round.shape(),
                            round.firstOperation()));
        }
        return awaitReady();
    }

    /** Waits until all have a buffer. */
    boolean awaitReady() {
        // A rank waits for the others twice: to join, and to create the buffer.
        Duration limit = spec.setupTimeout().multipliedBy(2).plus(START);
        if (!await(() -> members.stream().noneMatch(Member::isBusy), limit)) {
            hang("joining, or creating a buffer");
            return false;
        }
        members.stream()
                .filter(m -> m.is(State.REFUSED))
                .forEach(m -> problem(Problem.Kind.UNEXPECTED, m + " has no buffer: " + m.lastFailure()));
        return members.stream().allMatch(Member::isReady);
    }

    /** Starts a run on members that are ready. */
    void run(Collection<Member> who, int exchanges, int slowMillis) {
        lastRun++;
        recoveredRun = OptionalInt.empty();
        who.forEach(member -> run(member, lastRun, exchanges, slowMillis));
    }

    private void run(Member member, int id, int exchanges, int slowMillis) {
        lastRun = Math.max(lastRun, id);
        member.begin(id);
        member.handle()
                .send(new Order.Run(
                        id,
                        round.seed() * 1_000_003 + id,
                        exchanges,
                        (int) spec.hold().toMillis(),
                        slowMillis));
    }

    /**
     * Starts what a program would do next that does not know of the others' failures: the run after its last one, or after a
     * recovery the one that all who recovered go on with. So members that hold each other for alive do the same.
     */
    void runAlone(Member member, int exchanges) {
        if (member.is(State.IDLE)) {
            run(member, member.lastRun() + 1, exchanges, 0);
            return;
        }
        if (recoveredRun.isEmpty()) {
            recoveredRun = OptionalInt.of(lastRun + 1);
        }
        run(member, recoveredRun.getAsInt(), exchanges, 0);
    }

    /** Runs on members that are ready, and expects that no operation fails. */
    boolean runWell(Collection<Member> who, int exchanges, int slowMillis) {
        long start = System.nanoTime();
        run(who, exchanges, slowMillis);
        return ranWell(who, exchanges, start);
    }

    /** Waits until a run has ended that began at {@code start}, in which no operation may fail. */
    boolean ranWell(Collection<Member> who, int exchanges, long start) {
        if (!await(() -> who.stream().noneMatch(Member::isBusy), limit())) {
            hang("a run in which no rank was lost");
            return false;
        }
        who.stream()
                .filter(m -> !m.is(State.IDLE) && !m.is(State.FAILED) && !m.is(State.DEAD))
                .forEach(m -> problem(
                        m.is(State.OUT) ? Problem.Kind.FALSE_LOSS : Problem.Kind.UNEXPECTED,
                        m + " failed although nobody may be lost: " + m.lastFailure()));
        exchangeNanos = (System.nanoTime() - start) / exchanges;
        return who.stream().allMatch(m -> m.is(State.IDLE));
    }

    /** Time that so many exchanges take, as far as it is known. */
    Duration estimate(int exchanges) {
        return Duration.ofNanos(exchangeNanos * exchanges);
    }

    /**
     * Lets members go on as a program does, one run after another, until {@code done}: all that are ready run the next one
     * together; one that is ready while another recovers goes on alone, so that it learns of that.
     *
     * @return false when some member ended otherwise, or the limit passed, which is told as a hang
     */
    boolean goOn(Collection<Member> who, int exchanges, BooleanSupplier done, Duration limit, String what) {
        long end = System.nanoTime() + limit.toNanos();
        while (!done.getAsBoolean()) {
            if (who.stream().anyMatch(m -> !m.isReady() && !m.isBusy())) {
                return false;
            }
            List<Member> ready = who.stream().filter(Member::isReady).toList();
            boolean broken = who.stream().anyMatch(m -> m.is(State.BROKEN));
            if (ready.size() == who.size()) {
                run(ready, exchanges, 0);
            } else if (broken) {
                ready.stream().filter(RankGroup::goesOnAlone).forEach(member -> runAlone(member, exchanges));
            }
            if (System.nanoTime() - end > 0) {
                hang(what);
                return false;
            }
            pump(System.nanoTime() + Duration.ofMillis(20).toNanos());
        }
        return true;
    }

    private static boolean goesOnAlone(Member member) {
        return member.is(State.IDLE) || System.nanoTime() - member.since() > GOES_ON_NANOS;
    }

    /** Longest time that a run may take, with the recovery that follows. */
    Duration limit() {
        return spec.operationTimeout().multipliedBy(WAITS).plus(MARGIN);
    }

    /** Follows answers for a while. */
    void watch(Duration time) {
        await(() -> false, time);
    }

    /** Follows answers until something holds; false when it does not in time. */
    boolean await(BooleanSupplier condition, Duration limit) {
        long end = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end >= 0) {
                return false;
            }
            pump(end);
        }
        return true;
    }

    private void pump(long end) {
        crew.next(end).ifPresent(this::take);
    }

    private void take(Event event) {
        Member member = byHandle.get(event.from());
        if (member == null) {
            // Of a rank that was killed in a round before.
            return;
        }
        if (event.answer().isEmpty()) {
            ended(member);
            return;
        }
        Answer answer = event.answer().get();
        if (answer instanceof Answer.Ready) {
            member.enter(State.IDLE);
        } else if (answer instanceof Answer.Refused refused) {
            failed(member, State.REFUSED, refused.type() + ": " + refused.message());
        } else if (answer instanceof Answer.Ran ran) {
            statistics.ran(ran.exchanges(), ran.elements());
            member.ran();
            member.enter(State.IDLE);
        } else if (answer instanceof Answer.Broken broken) {
            failed(member, State.BROKEN, broken.type() + " in " + broken.operation() + ": " + broken.message());
        } else if (answer instanceof Answer.Recovered recovered) {
            member.masked(recovered.masked());
            member.enter(State.RECOVERED);
        } else if (answer instanceof Answer.Out out) {
            failed(member, State.OUT, out.message());
        } else if (answer instanceof Answer.GaveUp gaveUp) {
            failed(member, State.GAVE_UP, gaveUp.type() + " in recover: " + gaveUp.message());
        } else if (answer instanceof Answer.Wrong wrong) {
            problem(
                    Problem.Kind.WRONG_ROWS,
                    member + ", run " + wrong.id() + ", " + wrong.what() + ": " + wrong.message());
        } else if (answer instanceof Answer.Failed failed) {
            failed(member, State.FAILED, failed.stack());
            problem(Problem.Kind.UNEXPECTED, member + ", " + failed.what() + ": " + failed.stack());
        } else if (answer instanceof Answer.Closed closed) {
            member.enter(State.CLOSED);
            closed.leaks().forEach(leak -> problem(Problem.Kind.LEAK, member + " holds " + leak));
        } else if (answer instanceof Answer.Stacks stacks) {
            findings.stacks(round.number(), member.toString(), stacks.text());
        }
    }

    private static void failed(Member member, State state, String text) {
        member.lastFailure(text);
        member.enter(state);
    }

    private void ended(Member member) {
        if (!member.isEndExpected() && !crew.isClosed()) {
            problem(
                    Problem.Kind.CRASH,
                    member + " ended by itself with " + member.handle().exit());
        }
        member.enter(State.DEAD);
    }

    /** Tells that a step has not ended, with what every thread of every rank does. */
    void hang(String what) {
        problem(
                Problem.Kind.HANG,
                what + " has not ended in time: "
                        + members.stream()
                                .map(m ->
                                        m + (m.lastFailure().isEmpty() ? "" : ", last told " + first(m.lastFailure())))
                                .collect(Collectors.joining("; ")));
        members.stream().filter(m -> !m.is(State.DEAD)).forEach(m -> m.handle().send(new Order.Dump()));
        watch(STACKS);
    }

    private static String first(String text) {
        return text.lines().findFirst().orElse("");
    }

    /** Closes what lives, ranks at different times, and compares what processes hold with what they held before. */
    void close() {
        List<Member> living = members.stream()
                .filter(m -> m.isReady() || m.is(State.OUT) || m.is(State.GAVE_UP) || m.is(State.REFUSED))
                .toList();
        for (Member member : living) {
            member.handle().send(new Order.Close(random.nextInt(50), 3000));
        }
        if (!await(() -> living.stream().allMatch(m -> m.is(State.CLOSED) || m.is(State.DEAD)), limit())) {
            hang("closing");
        }
    }

    /** Those whose processes serve no further round are replaced. */
    void release() {
        for (Member member : members) {
            if (troubled || !member.is(State.CLOSED)) {
                member.expectEnd();
                crew.discard(member.handle());
            }
        }
    }

    /** A member of another state than those that are expected, as a problem's text. */
    static Optional<Member> otherThan(Collection<Member> who, State... expected) {
        List<State> fine = List.of(expected);
        return who.stream().filter(m -> !fine.contains(m.state())).findFirst();
    }
}
