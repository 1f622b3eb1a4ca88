package org.ep4j.engine.membership;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpNoMajorityException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.transport.NanoClock;
import org.ep4j.transport.Pause;
import org.jspecify.annotations.Nullable;

/**
 * The membership of one buffer on one rank: agrees with the other ranks on the members of the next epoch, through memory that they
 * map or post to, and lets the buffer move into fresh memory among these members. It has no thread of its own: a rank answers the
 * others while it is in {@link #recover} itself. One thread at a time, except {@link #isLeftOut}, {@link #requireMember} and
 * {@link #recoveries}.
 */
public final class BufferMembership implements RecoveryWatch {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Longer than a message takes between processes that share a processor, which yield while they poll. */
    private static final long ATTEMPT_NANOS = 4_000_000;

    /** Between attempts of operations to send messages that were deferred, to ranks that were left out. */
    private static final long DEFERRED_NANOS = 20_000_000;

    final int self;
    final ControlSlots slots;
    final Bootstrap bootstrap;
    private final int buffer;
    private final LivenessLocks locks;
    private final NanoClock clock;
    private final MessageCodec codec;
    private final MembershipAgreement agreement;
    private final SilenceLimit silence;
    private final UnaryOperator<EpFailure> known;
    private final boolean[] proved;
    private byte[] sent = {};
    /** Time at which this rank last sent its state. */
    private long sentAt;

    private AcceptorRecord stored;
    /** Ranks that were sent a membership without them. */
    private final BitSet notified = new BitSet();

    /** Time at which an operation last tried to send deferred messages. */
    private long deferredAt = Long.MIN_VALUE / 2;

    /** The newest epoch into whose memory this rank has tried to move: each is tried once. */
    private long epochTried;

    private boolean recovering;
    /** Throws if the wait that is under way has to end for another reason than its deadline. */
    private Runnable check = () -> {};

    /** The epoch whose memory the buffer uses. */
    private volatile long epochInUse;
    /** Whether a rank on this host has stored a membership without this rank. */
    private volatile boolean leftOut;

    // The fields below are guarded by this object.

    private final @Nullable AgreementMessage[] latest;
    /** Ranks whose messages are ignored. */
    private final BitSet ignored = new BitSet();

    /** By rank: time at which its newest message was read. */
    private final long[] latestAt;

    /** Time from which the silence of ranks is measured: begin of the recovery, or end of a stop of this rank. */
    private long silentSince;

    /** Time at which this rank last read messages. */
    private long polledAt;

    /** Memberships that others have stored, and the time at which this rank read them. */
    private List<Membership> storedByOthers = List.of();

    private long storedReadAt = Long.MIN_VALUE / 2;
    private boolean closed;

    /**
     * Creates it in epoch 0, with all ranks.
     *
     * @param buffer number of the buffer, the same on all ranks and used once in the life of {@code locks}
     * @param memory {@link #bytes} of each rank, used for nothing else
     * @param locks prove which ranks are dead, and keep the records
     * @param bootstrap of all ranks
     * @param known adds host and path of a rank to a failure
     * @throws org.ep4j.EpResourceException if there is no room for this rank's record
     */
    public BufferMembership(
            int buffer,
            ControlSlots.Memory memory,
            LivenessLocks locks,
            Bootstrap bootstrap,
            NanoClock clock,
            SilenceLimit silence,
            UnaryOperator<EpFailure> known) {
        this.self = bootstrap.rank();
        this.buffer = buffer;
        this.silence = silence;
        this.known = known;
        this.slots = new ControlSlots(self, memory);
        this.locks = locks;
        this.bootstrap = bootstrap;
        this.clock = clock;
        int ranks = memory.ranks();
        this.codec = new MessageCodec(ranks);
        this.agreement = new MembershipAgreement(self, Membership.first(ranks), ATTEMPT_NANOS);
        this.latest = new AgreementMessage[ranks];
        this.proved = new boolean[ranks];
        this.latestAt = new long[ranks];
        this.stored = agreement.record();
        locks.reserve(buffer, codec.recordBytes());
        memory.posted().values().forEach(posted -> posted.setWaitCheck(() -> requireMember("recover")));
    }

    /** Bytes of memory that each rank needs, a multiple of a page. */
    public static long bytes(int ranks) {
        return ControlSlots.bytes(ranks);
    }

    public NanoClock clock() {
        return clock;
    }

    /**
     * When a rank is given up that is not proved dead.
     *
     * @param longest time without a message of it, once the rendezvous is lost, which reports the heartbeats of others. Longer than
     *     an operation may take, since a rank sends no message while it is in one
     * @param alone true takes ranks for dead that are lost and not proved dead: the user vouches for it
     */
    public record SilenceLimit(Duration longest, boolean alone) {}

    /** Moves the buffer into fresh memory. */
    public interface Move<T> {
        /**
         * Allocates memory among the members of an epoch, and exchanges what they need to use it.
         *
         * @param members a bootstrap over {@code ranks}
         * @param ranks the members, ascending, this one among them
         * @param epoch unique in the life of the buffer
         */
        T run(Bootstrap members, List<Integer> ranks, long epoch);
    }

    /** Thrown inside a move that has to be given up because of another agreement. */
    private static final class EpochOverException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        EpochOverException(long epoch) {
            super("other ranks do not use epoch " + epoch + " any more", null, false, false);
        }
    }

    /**
     * Agrees on the members of the next epoch and moves the buffer among them. Collective over the ranks that will be members. If
     * members die meanwhile, there is another agreement.
     *
     * @param masked ranks that the caller leaves out
     * @param end value of the clock at the deadline
     * @param millis the time until then when the call began, for messages
     * @param check called in every wait; throws what is to end it
     * @throws EpPeerLostException naming this rank if the others have left it out
     * @throws EpNoMajorityException if too few ranks would continue
     * @throws EpTimeoutException if a rank that is not known to be lost does not take part
     */
    public <T> T recover(Set<Integer> masked, long end, long millis, Runnable check, Move<T> move) {
        startSilence(recovering);
        recovering = true;
        // Before the first message, which has the ranks that this one wants to leave out.
        slots.findUnreachable();
        this.check = check;
        for (int r = 0; r < slots.ranks(); r++) {
            if (masked.contains(r)) {
                agreement.suspect(r, RankStatus.MASKED);
            } else if (agreement.suspicion(r) == RankStatus.MASKED) {
                agreement.suspect(r, RankStatus.MEMBER);
            }
        }
        while (true) {
            decide(end, millis);
            Membership membership = agreement.membership();
            epochTried = membership.epoch();
            List<Integer> members = IntStream.range(0, slots.ranks())
                    .filter(membership::has)
                    .boxed()
                    .toList();
            Optional<T> made = attempt(move, members, end, millis);
            if (made.isPresent()) {
                epochInUse = epochTried;
                recovering = false;
                try {
                    sendLast(members, end);
                } catch (RuntimeException e) {
                    // The buffer is closed, or this thread interrupted: this rank has moved all the same.
                    LOG.log(
                            System.Logger.Level.DEBUG,
                            "this rank has recovered, but has not sent all messages of the recovery",
                            e);
                }
                return made.get();
            }
        }
    }

    /** Moves; returns nothing if another agreement is needed. */
    private <T> Optional<T> attempt(Move<T> move, List<Integer> members, long end, long millis) {
        try {
            return Optional.of(move.run(new SlotBootstrap(this, epochTried, members), members, epochTried));
        } catch (RuntimeException | Error e) {
            // The failure may be a consequence: a member that gives up the move removes memory that others are about to
            // map.
            if (e instanceof Error || needsNewProcess(e) || !isOver(epochTried)) {
                try {
                    sendLast(members, end);
                } catch (RuntimeException other) {
                    e.addSuppressed(other);
                }
                throw e;
            }
            if (clock.nanoTime() - end >= 0) {
                EpTimeoutException late = new EpTimeoutException(
                        "recover was not complete after " + millis + " ms: " + e.getMessage() + "; call recover again",
                        EpFailure.builder("recover", -1)
                                .expected(epochTried + 1)
                                .seen(epochTried)
                                .build());
                late.initCause(e);
                throw late;
            }
            LOG.log(System.Logger.Level.DEBUG, "this rank gives up its attempt to recover into epoch " + epochTried, e);
            return Optional.empty();
        }
    }

    private static boolean needsNewProcess(Throwable e) {
        return e instanceof EpException failure && failure.recourse() == EpException.Recourse.RESTART_PROCESS;
    }

    /** Measures silence from now on, or, after a call of recover that has just failed, from before. */
    private synchronized void startSilence(boolean again) {
        long now = clock.nanoTime();
        if (!again || now - polledAt > 2 * heartbeat()) {
            silentSince = now;
        }
        polledAt = now;
    }

    /** Sends deferred messages, for which the others may still wait. */
    private void sendLast(List<Integer> members, long end) {
        int tries = 0;
        while (members.stream().anyMatch(r -> slots.hasDeferred(r) && state(r) == MemberState.ALIVE)
                && clock.nanoTime() - end < 0) {
            check.run();
            Pause.after(tries++);
            // Others may need this rank's answers meanwhile.
            isOver(epochTried);
        }
    }

    /** Returns whether a move to an epoch cannot succeed: there is another epoch, or an agreement on one, or a member is lost. */
    private boolean isOver(long epoch) {
        readSlots();
        receive();
        updateSuspicions();
        send();
        Membership membership = agreement.membership();
        return membership.epoch() != epoch
                || agreement.record().promised() != Vote.NO_BALLOT
                || IntStream.range(0, slots.ranks()).anyMatch(r -> membership.has(r) && state(r) != MemberState.ALIVE);
    }

    /** Waits for a membership of an epoch to which this rank has not tried to move. */
    private void decide(long end, long millis) {
        int tries = 0;
        agreement.begin(epochTried);
        readSlots();
        while (true) {
            receive();
            updateSuspicions();
            agreement.tick(clock.nanoTime());
            send();
            if (agreement.isExpelled()) {
                throw expelled("recover");
            }
            if (agreement.membership().epoch() > epochTried) {
                return;
            }
            if (clock.nanoTime() - end >= 0) {
                throw undecided(millis);
            }
            check.run();
            Pause.after(tries++);
            readSlots();
        }
    }

    /** Reads new messages of the other ranks, without an answer. */
    private synchronized void readSlots() {
        if (closed) {
            return;
        }
        long now = clock.nanoTime();
        if (now - polledAt > 2 * heartbeat()) {
            // This rank was stopped meanwhile, so nothing is known of silence.
            silentSince = now;
        }
        polledAt = now;
        for (int r = 0; r < latest.length; r++) {
            AgreementMessage before = latest[r];
            long version = slots.version(r, ControlSlots.AGREEMENT);
            if (version > (before == null ? 0 : before.version())) {
                Optional<byte[]> message = slots.read(r, ControlSlots.AGREEMENT, version);
                if (message.isPresent()) {
                    latestAt[r] = now;
                    latest[r] = codec.message(message.get());
                }
            }
        }
    }

    private synchronized @Nullable AgreementMessage latest(int rank) {
        return ignored.get(rank) ? null : latest[rank];
    }

    private synchronized void updateIgnored() {
        for (int r = 0; r < slots.ranks(); r++) {
            ignored.set(r, !agreement.listensTo(r));
        }
    }

    private void receive() {
        for (int r = 0; r < slots.ranks(); r++) {
            AgreementMessage message = latest(r);
            if (message != null) {
                agreement.receive(r, message);
            }
        }
        updateIgnored();
    }

    /**
     * Returns the memberships that other ranks on this host have stored, which may run: a rank that posts and has left this one out may
     * be unable to send a message. Each is a read of a file, so the result is kept for a moment.
     */
    private List<Membership> storedMemberships() {
        return slots.isAnyPosted() ? readStored() : List.of();
    }

    private synchronized List<Membership> readStored() {
        long now = clock.nanoTime();
        if (now - storedReadAt < ATTEMPT_NANOS) {
            return storedByOthers;
        }
        storedReadAt = now;
        List<Membership> all = new ArrayList<>();
        for (int r = 0; r < slots.ranks(); r++) {
            if (slots.isPosted(r) && !ignored.get(r)) {
                locks.storedRecord(r, buffer, codec.recordBytes())
                        .ifPresent(bytes -> all.add(finalRecord(bytes).membership()));
            }
        }
        storedByOthers = all;
        return all;
    }

    /** Updates the agreement with the states of the other ranks. */
    private void updateSuspicions() {
        storedMemberships().forEach(agreement::takeOver);
        for (int r = 0; r < proved.length; r++) {
            if (r == self || proved[r]) {
                continue;
            }
            MemberState state = state(r);
            if (agreement.suspicion(r) == RankStatus.MASKED && state != MemberState.LEFT) {
                // It stays left out, even if it sends messages.
                LOG.log(System.Logger.Level.TRACE, "a masked rank is {0}", state);
            } else if (state != MemberState.ALIVE) {
                agreement.suspect(
                        r,
                        state == MemberState.LEFT
                                ? RankStatus.LEFT
                                : slots.isUnreachable(r) ? RankStatus.UNREACHABLE : RankStatus.SILENT);
            } else if (agreement.suspicion(r) == RankStatus.SILENT) {
                // It has sent something since.
                agreement.suspect(r, RankStatus.MEMBER);
            }
            MemberState known = bootstrap.state(r);
            Optional<byte[]> last = locks.finalRecord(r, known, buffer, codec.recordBytes());
            if (last.isPresent()) {
                agreement.proveDead(r, finalRecord(last.get()));
                proved[r] = true;
            } else if (silence.alone() && !locks.watches(r) && (known != MemberState.ALIVE || isSilent(r))) {
                // A rank that this one cannot reach may still reach others.
                agreement.vouchDead(r);
                updateIgnored();
                proved[r] = true;
            }
        }
    }

    /** Returns whether a rank is silent, and neither the rendezvous nor a lock would show its death. */
    private synchronized boolean isSilent(int rank) {
        long since = Math.max(silentSince, latestAt[rank]);
        return bootstrap.state(0) != MemberState.ALIVE
                && !locks.watches(rank)
                && clock.nanoTime() - since > silence.longest().toNanos();
    }

    private AcceptorRecord finalRecord(byte[] bytes) {
        // A rank that has stored nothing has promised nothing.
        return bytes.length == 0
                ? new AcceptorRecord(Membership.first(slots.ranks()), Vote.NO_BALLOT, Vote.NONE)
                : codec.record(bytes);
    }

    /** Stores what this rank has promised and accepted, then sends it to all ranks, also those that were left out. */
    private void send() {
        AcceptorRecord record = agreement.record();
        if (!record.equals(stored)) {
            locks.store(buffer, codec.recordBytes(), codec.encode(record));
            stored = record;
        }
        AgreementMessage message = agreement.message();
        byte[] bytes = codec.encode(message);
        boolean same =
                Arrays.equals(bytes, Long.BYTES, bytes.length, sent, Math.min(Long.BYTES, sent.length), sent.length);
        long now = clock.nanoTime();
        if (same && now - sentAt < heartbeat()) {
            slots.sendDeferred();
            return;
        }
        sent = bytes;
        sentAt = now;
        Membership membership = agreement.membership();
        for (int r = 0; r < slots.ranks(); r++) {
            // A rank that was left out may have closed the buffer since.
            if (r != self && !notified.get(r)) {
                slots.send(r, ControlSlots.AGREEMENT, message.version(), bytes);
                notified.set(r, !membership.has(r) && !slots.hasDeferred(r));
            }
        }
    }

    /** Ranks that wait in a recovery send their state again and again, so that they do not count as silent. */
    private long heartbeat() {
        return silence.longest().toNanos() / 8;
    }

    /** Called repeatedly while this rank waits inside a move: answers the others, and ends the move if it cannot succeed. */
    void requireCurrent(long epoch) {
        check.run();
        if (isOver(epoch)) {
            throw new EpochOverException(epoch);
        }
    }

    MemberState state(int rank) {
        MemberState state = bootstrap.state(rank);
        return state == MemberState.ALIVE && rank != self && (slots.isUnreachable(rank) || isSilent(rank))
                ? MemberState.LOST
                : state;
    }

    @Override
    public void requireMember(String phase) {
        if (isLeftOut()) {
            throw expelled(phase);
        }
    }

    /** Reads no message from here on: the memory of the slots is released. For any thread. */
    public synchronized void close() {
        closed = true;
    }

    @Override
    public boolean isLeftOut() {
        if (isLeftOutByMessage()) {
            return true;
        }
        // Without a stream, since every operation calls this.
        for (Membership one : storedMemberships()) {
            if (one.epoch() > epochInUse && !one.has(self)) {
                leftOut = true;
            }
        }
        return leftOut;
    }

    private synchronized boolean isLeftOutByMessage() {
        readSlots();
        for (int r = 0; r < slots.ranks(); r++) {
            AgreementMessage message = latest(r);
            if (message != null
                    && message.epoch() > epochInUse
                    && !message.acceptor().membership().has(self)) {
                return true;
            }
        }
        return false;
    }

    /** {@inheritDoc} The buffer's memory may differ between ranks until then. Not during {@link #recover}. */
    @Override
    public void requireReady() {
        if (recovering) {
            throw new EpStateException(
                    "recovery of this buffer is not complete; call recover again before the next operation",
                    EpException.Recourse.RECOVER);
        }
        // A rank that was left out may have begun to accept messages since. One that has not costs a moment.
        if (slots.hasAnyDeferred() && clock.nanoTime() - deferredAt > DEFERRED_NANOS) {
            slots.sendDeferred();
            deferredAt = clock.nanoTime();
        }
    }

    @Override
    public Map<Integer, List<Integer>> recoveries() {
        readSlots();
        Map<Integer, List<Integer>> all = new TreeMap<>();
        for (int r = 0; r < slots.ranks(); r++) {
            AgreementMessage message = latest(r);
            if (message != null && isAhead(message)) {
                all.put(r, leftOut(message));
            }
        }
        return all;
    }

    private List<Integer> leftOut(AgreementMessage message) {
        Membership theirs = message.acceptor().membership();
        return IntStream.range(0, slots.ranks())
                .filter(r -> message.suspects().get(r) != RankStatus.MEMBER
                        || message.dead().get(r)
                        || !theirs.has(r))
                .boxed()
                .toList();
    }

    /** Returns whether the sender has begun a recovery that this rank has not completed. */
    private boolean isAhead(AgreementMessage message) {
        boolean under = message.acceptor().promised() != Vote.NO_BALLOT
                || message.proposal().ballot() != Vote.NO_BALLOT;
        return message.epoch() > epochInUse || (message.epoch() == epochInUse && under);
    }

    private EpPeerLostException expelled(String phase) {
        return new EpPeerLostException(
                "the other ranks have left this rank (" + self + ") out and continue without it; close the buffer",
                EpFailure.builder(phase, self).build(),
                EpException.Recourse.REJOIN);
    }

    private RuntimeException undecided(long millis) {
        Membership membership = agreement.membership();
        List<Integer> with = new ArrayList<>();
        List<String> against = new ArrayList<>();
        int missing = -1;
        int living = 0;
        for (int r = 0; r < slots.ranks(); r++) {
            if (!membership.has(r) || agreement.dead().get(r)) {
                continue;
            }
            living++;
            RankStatus suspicion = agreement.suspicion(r);
            if (suspicion != RankStatus.MEMBER) {
                against.add(r + " (" + text(suspicion) + ")");
                continue;
            }
            with.add(r);
            if (r != self && !agreement.hasMessageOf(r) && missing < 0) {
                missing = r;
            }
        }
        int unproved = living + agreement.deadWithoutRecord();
        if (2 * with.size() > unproved || (living > 0 && with.size() == living)) {
            return new EpTimeoutException(
                    "recover waited " + millis + " ms for "
                            + (missing < 0
                                    ? "an agreement of the ranks; call recover again"
                                    : "rank " + missing
                                            + ", which is not known to be lost; call recover on all ranks, or"
                                            + " end the process of that rank"),
                    known.apply(EpFailure.builder("recover", missing)
                            .expected(membership.epoch() + 1)
                            .seen(membership.epoch())
                            .build()));
        }
        return new EpNoMajorityException(
                "this rank (" + self + ") cannot recover: of the " + unproved + " ranks not proved dead, only "
                        + with.size()
                        + " can continue, this one included ("
                        + with.stream().map(String::valueOf).collect(Collectors.joining(", "))
                        + "), but more than half are needed;"
                        + " ranks " + String.join(", ", against)
                        + " may run and continue without this one. Wait for them or end their processes, then call"
                        + " recover again; or close the buffer. A group that is joined with ep.recover.alone=true treats lost ranks as dead",
                with.size(),
                unproved);
    }

    private static String text(RankStatus suspicion) {
        return switch (suspicion) {
            case SILENT -> "silent for the heartbeat timeout, or its connection is lost";
            case UNREACHABLE -> "cannot be reached";
            case LEFT -> "has left the group";
            case MASKED -> "masked, but its process may run";
            case MEMBER, DEAD -> "dead";
        };
    }
}
