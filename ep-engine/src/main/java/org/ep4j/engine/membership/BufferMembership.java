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
 * others while it is in {@link #recover} itself. For one thread at a time, but for {@link #isLeftOut}, {@link #requireMember} and
 * {@link #recoveries}.
 */
public final class BufferMembership implements RecoveryWatch {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Longer than a message takes between processes that share a processor, which yield while they poll. */
    private static final long ATTEMPT_NANOS = 4_000_000;

    /** Between attempts of operations to send what is owed to ranks that were left out. */
    private static final long OWED_NANOS = 20_000_000;

    private final int self;
    private final int buffer;
    private final ControlSlots slots;
    private final LivenessLocks locks;
    private final Bootstrap bootstrap;
    private final NanoClock clock;
    private final MessageCodec codec;
    private final MembershipAgreement agreement;

    /** By rank: the version of the last message that was read, and the message. Guarded by this object. */
    private final long[] read;

    private final @Nullable AgreementMessage[] latest;
    /** Ranks whose messages do not count any more. */
    private final BitSet unheard = new BitSet();

    private final boolean[] proved;
    /** By rank: when a message of it was read last. Guarded by this object. */
    private final long[] heard;

    private final Silence silence;
    private final UnaryOperator<EpFailure> known;
    private byte[] sent = {};
    private AcceptorRecord stored;

    /** The epoch whose memory the buffer uses. */
    private volatile long epochInUse;
    /** Guarded by this object. */
    private boolean closed;

    /** The newest epoch into whose memory this rank has tried to move: each is tried once. */
    private long epochTried;

    private boolean recovering;
    /**
     * From when on ranks count as silent: when the recovery that is under way began, or this rank had been stopped itself. Guarded by this
     * object.
     */
    private long listening;

    /** When this rank last looked for messages. Guarded by this object. */
    private long looked;

    /** When this rank last read what others have stored. Guarded by this object. */
    private long storedRead = Long.MIN_VALUE / 2;

    /** What it read then. Guarded by this object. */
    private List<Membership> storedLast = List.of();

    /** Whether a rank on this host has stored a membership without this rank. */
    private volatile boolean leftOut;

    /** When an operation last tried to send what is owed. */
    private long owedAt = Long.MIN_VALUE / 2;

    /** When this rank last sent its state. */
    private long sentAt;
    /** Ranks that were sent a membership without them. */
    private final BitSet notified = new BitSet();

    /** Throws if the wait that is under way has to end for another reason than its deadline. */
    private Runnable check = () -> {};

    /**
     * In epoch 0, with all ranks.
     *
     * @param buffer number of the buffer, the same on all ranks and used once in the life of {@code locks}
     * @param memory {@link #bytes} of each rank, used for nothing else
     * @param locks prove which ranks are dead, and keep the records
     * @param bootstrap of all ranks
     * @param silence when a rank is given up of which nothing proves that it is dead
     * @param known adds what is known of a rank to a failure
     * @throws org.ep4j.EpResourceException if there is no room for this rank's record
     */
    public BufferMembership(
            int buffer,
            ControlSlots.Memory memory,
            LivenessLocks locks,
            Bootstrap bootstrap,
            NanoClock clock,
            Silence silence,
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
        this.read = new long[ranks];
        this.latest = new AgreementMessage[ranks];
        this.proved = new boolean[ranks];
        this.heard = new long[ranks];
        this.stored = agreement.record();
        locks.reserve(buffer, codec.recordBytes());
        memory.posted().values().forEach(posted -> posted.setWaitCheck(() -> requireMember("recover")));
    }

    /** Bytes of memory that each rank needs, a multiple of a page. */
    public static long bytes(int ranks) {
        return ControlSlots.bytes(ranks);
    }

    int self() {
        return self;
    }

    ControlSlots slots() {
        return slots;
    }

    public NanoClock clock() {
        return clock;
    }

    /**
     * When a rank is given up of which nothing proves that it is dead.
     *
     * @param longest time without a message of it, once the rendezvous is lost, which tells of the heartbeats of others. Longer than
     *     an operation may take, since a rank sends no message while it is in one
     * @param alone true takes ranks for dead that are lost and not proved dead: the user vouches for it
     */
    public record Silence(Duration longest, boolean alone) {}

    /** What moves the buffer into fresh memory. */
    public interface Move<T> {
        /**
         * Makes memory among the members of an epoch, and whatever they have to exchange.
         *
         * @param members a bootstrap over {@code ranks}
         * @param ranks the members, ascending, this one among them
         * @param epoch unique in the life of the buffer
         */
        T run(Bootstrap members, List<Integer> ranks, long epoch);
    }

    /** Thrown inside a move when it has to be given up because of another agreement. */
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
        listen(recovering);
        recovering = true;
        // Before the first message, which says whom this rank wants to leave out.
        slots.findUnreachable();
        this.check = check;
        for (int r = 0; r < slots.ranks(); r++) {
            if (masked.contains(r)) {
                agreement.suspect(r, Standing.MASKED);
            } else if (agreement.suspicion(r) == Standing.MASKED) {
                agreement.suspect(r, Standing.MEMBER);
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

    /** Moves; gives nothing if there has to be another agreement. */
    private <T> Optional<T> attempt(Move<T> move, List<Integer> members, long end, long millis) {
        try {
            return Optional.of(move.run(new SlotBootstrap(this, epochTried, members), members, epochTried));
        } catch (RuntimeException | Error e) {
            // What failed may be a consequence: a member that gives up the move removes what others were about to map.
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

    /** Ranks count as silent from now on at the earliest; from before if an earlier call of recover has just failed. */
    private synchronized void listen(boolean again) {
        long now = clock.nanoTime();
        if (!again || now - looked > 2 * heartbeat()) {
            listening = now;
        }
        looked = now;
    }

    /** The others may still wait for what this rank has sent last. */
    private void sendLast(List<Integer> members, long end) {
        int tries = 0;
        while (members.stream().anyMatch(r -> slots.owes(r) && state(r) == MemberState.ALIVE)
                && clock.nanoTime() - end < 0) {
            check.run();
            Pause.after(tries++);
            // Others may need this rank's answers meanwhile.
            isOver(epochTried);
        }
    }

    /** Whether a move to an epoch cannot succeed: there is another epoch, or an agreement on one, or a member is lost. */
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

    /** Returns when there is a membership of an epoch that this rank has not tried to move to. */
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

    /** Reads what the other ranks have written since the last time, without an answer. */
    private synchronized void readSlots() {
        if (closed) {
            return;
        }
        long now = clock.nanoTime();
        if (now - looked > 2 * heartbeat()) {
            // This rank did nothing meanwhile, so it knows of no silence.
            listening = now;
        }
        looked = now;
        for (int r = 0; r < read.length; r++) {
            long version = slots.version(r, ControlSlots.AGREEMENT);
            if (version > read[r]) {
                Optional<byte[]> message = slots.read(r, ControlSlots.AGREEMENT, version);
                if (message.isPresent()) {
                    heard[r] = now;
                    read[r] = version;
                    latest[r] = codec.message(message.get());
                }
            }
        }
    }

    /** The newest message of a rank that was read. */
    private synchronized @Nullable AgreementMessage latest(int rank) {
        return unheard.get(rank) ? null : latest[rank];
    }

    private synchronized void noteUnheard() {
        for (int r = 0; r < slots.ranks(); r++) {
            unheard.set(r, !agreement.hears(r));
        }
    }

    private void receive() {
        for (int r = 0; r < slots.ranks(); r++) {
            AgreementMessage message = latest(r);
            if (message != null) {
                agreement.receive(r, message);
            }
        }
        noteUnheard();
    }

    /**
     * The memberships that other ranks on this host know, which may run. A rank that has left this one out may have no other way to say so.
     * Each is a read of a file, so what was read a moment ago is given again.
     */
    private List<Membership> storedMemberships() {
        return slots.isAnyPosted() ? readStored() : List.of();
    }

    private synchronized List<Membership> readStored() {
        long now = clock.nanoTime();
        if (now - storedRead < ATTEMPT_NANOS) {
            return storedLast;
        }
        storedRead = now;
        List<Membership> all = new ArrayList<>();
        for (int r = 0; r < read.length; r++) {
            if (slots.isPosted(r) && !unheard.get(r)) {
                locks.storedRecord(r, buffer, codec.recordBytes())
                        .ifPresent(bytes -> all.add(finalRecord(bytes).membership()));
            }
        }
        storedLast = List.copyOf(all);
        return storedLast;
    }

    /** Takes over what is known of the other ranks. */
    private void updateSuspicions() {
        storedMemberships().forEach(agreement::takeOver);
        for (int r = 0; r < proved.length; r++) {
            if (r == self || proved[r]) {
                continue;
            }
            MemberState state = state(r);
            if (agreement.suspicion(r) == Standing.MASKED && state != MemberState.LEFT) {
                // It stays left out, whatever it sends.
                LOG.log(System.Logger.Level.TRACE, "a masked rank is {0}", state);
            } else if (state != MemberState.ALIVE) {
                agreement.suspect(
                        r,
                        state == MemberState.LEFT
                                ? Standing.LEFT
                                : slots.isUnreachable(r) ? Standing.UNREACHABLE : Standing.SILENT);
            } else if (agreement.suspicion(r) == Standing.SILENT) {
                // It has sent something since.
                agreement.suspect(r, Standing.MEMBER);
            }
            MemberState known = bootstrap.state(r);
            Optional<byte[]> last = locks.finalRecord(r, known, buffer, codec.recordBytes());
            if (last.isPresent()) {
                agreement.proveDead(r, finalRecord(last.get()));
                proved[r] = true;
            } else if (silence.alone() && !locks.watches(r) && (known != MemberState.ALIVE || isSilent(r))) {
                // One that cannot be reached may still be heard by others.
                agreement.vouchDead(r);
                noteUnheard();
                proved[r] = true;
            }
        }
    }

    /** Whether nothing is heard of a rank, and neither the rendezvous nor a lock would tell if it had died. */
    private synchronized boolean isSilent(int rank) {
        long since = Math.max(listening, heard[rank]);
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

    /** Stores what this rank has promised and accepted, then tells all ranks, those that were left out as well. */
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
            slots.sendOwed();
            return;
        }
        sent = bytes;
        sentAt = now;
        Membership membership = agreement.membership();
        for (int r = 0; r < slots.ranks(); r++) {
            // A rank that was left out may have closed the buffer since.
            if (r != self && !notified.get(r)) {
                slots.send(r, ControlSlots.AGREEMENT, message.version(), bytes);
                notified.set(r, !membership.has(r) && !slots.owes(r));
            }
        }
    }

    /** Ranks that wait in a recovery send their state again and again, so that they do not count as silent. */
    private long heartbeat() {
        return silence.longest().toNanos() / 8;
    }

    /** Called again and again while this rank waits inside a move: answers the others, and ends the move if it cannot succeed. */
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

    boolean provesLosses() {
        return bootstrap.provesLosses();
    }

    long stateChanges() {
        return bootstrap.stateChanges();
    }

    /**
     * Ends an operation of a rank that the others have left out. A rank that was stopped learns it here.
     *
     * @throws EpPeerLostException naming this rank
     */
    @Override
    public void requireMember(String phase) {
        if (isLeftOut()) {
            throw expelled(phase);
        }
    }

    /** Reads no message from here on: the memory of the slots is given back. For any thread. */
    public synchronized void close() {
        closed = true;
    }

    /** Whether the others have left this rank out, as far as is known now. */
    @Override
    public boolean isLeftOut() {
        if (isLeftOutByMessage()) {
            return true;
        }
        // Without a stream: every operation asks.
        for (Membership one : storedMemberships()) {
            if (one.epoch() > epochInUse && !one.has(self)) {
                leftOut = true;
            }
        }
        return leftOut;
    }

    /** Every operation asks, and nearly always there is no message. */
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

    boolean isRecovering() {
        return recovering;
    }

    /**
     * Begins an operation: refuses it from a call of {@link #recover} until one has succeeded, since the buffer's memory may differ between
     * ranks. Not during {@link #recover}.
     *
     * @throws EpStateException then
     */
    @Override
    public void requireReady() {
        if (isRecovering()) {
            throw new EpStateException(
                    "recovery of this buffer is not complete; call recover again before the next operation",
                    EpException.Recourse.RECOVER);
        }
        // A rank that was left out may have begun to take messages since. One that has not costs a moment.
        if (slots.owesAny() && clock.nanoTime() - owedAt > OWED_NANOS) {
            slots.sendOwed();
            owedAt = clock.nanoTime();
        }
    }

    /**
     * The ranks that are in {@link #recover} or have been through it, which this rank has not, and by each of them the ranks that it wants to
     * leave out. For any thread.
     */
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
                .filter(r -> message.suspects().get(r) != Standing.MEMBER
                        || message.dead().get(r)
                        || !theirs.has(r))
                .boxed()
                .toList();
    }

    /** Whether the sender has begun a recovery that this rank has not been through. */
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
            Standing suspicion = agreement.suspicion(r);
            if (suspicion != Standing.MEMBER) {
                against.add(r + " (" + text(suspicion) + ")");
                continue;
            }
            with.add(r);
            if (r != self && !agreement.hasHeardOf(r) && missing < 0) {
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

    private static String text(Standing suspicion) {
        return switch (suspicion) {
            case SILENT -> "silent for the heartbeat timeout, or its connection is lost";
            case UNREACHABLE -> "cannot be reached";
            case LEFT -> "has left the group";
            case MASKED -> "masked, but its process may run";
            case MEMBER, DEAD -> "dead";
        };
    }
}
