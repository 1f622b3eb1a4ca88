package org.ep4j.engine.membership;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One rank's part in the agreement on the next membership: single-decree Paxos for each epoch, whose acceptors are the members of
 * the epoch. docs/internals/membership.md has the protocol and the reasons for each rule.
 *
 * <p>The class has no threads, no connections and no clock. After each call its owner does two things, in this order: it stores
 * {@link #record} where the record outlives the process, and it sends {@link #message} to all other ranks. It repeats the message
 * from time to time, since messages may be lost. One thread at a time.
 */
class MembershipAgreement {
    /** Number of attempts after which the delay between them does not grow. */
    private static final int MOST_DOUBLINGS = 10;

    private final int self;
    private final int ranks;
    private final long delay;

    private Membership membership;
    private long promised = Vote.NO_BALLOT;
    private Vote accepted = Vote.NONE;
    /** This rank's own proposal; its value is empty while it collects promises. */
    private Vote proposal = Vote.NONE;

    private boolean wanted;
    private int attempts;
    private boolean attemptIsPlanned;
    private long nextAttempt;

    private long version;
    /** By rank: the newest message. */
    private final @Nullable AgreementMessage[] messages;

    private final RankStatus[] suspects;

    /** Final records of the ranks that this rank has proved dead, of all epochs; nothing for those without a record. */
    private final Map<Integer, AcceptorRecord> finalRecords = new TreeMap<>();
    /** Ranks for whose death the user vouches, on this rank or another one. Their final records are not read any more. */
    private final BitSet unread = new BitSet();
    /** Members of this epoch that are proved dead and whose final record is part of the next two values. */
    private final BitSet dead = new BitSet();

    private long deadPromised = Vote.NO_BALLOT;
    private Vote deadAccepted = Vote.NONE;
    /** Members among {@link #dead} whose final record is not known. */
    private final BitSet deadUnread = new BitSet();

    /** Starts with the same membership as all ranks; {@code delay} is between two attempts, longer than a message usually takes. */
    MembershipAgreement(int self, Membership membership, long delay) {
        this.self = self;
        this.ranks = membership.statuses().size();
        this.delay = delay;
        this.membership = membership;
        this.messages = new AgreementMessage[ranks];
        this.suspects = new RankStatus[ranks];
        Arrays.fill(suspects, RankStatus.MEMBER);
    }

    /** The newest membership that this rank knows. */
    final Membership membership() {
        return membership;
    }

    /** Returns whether the members of a newer epoch have left this rank out. */
    final boolean isExpelled() {
        return !membership.has(self);
    }

    /** State to store before any message is sent. */
    final AcceptorRecord record() {
        return new AcceptorRecord(membership, promised, accepted);
    }

    /** Message for all other ranks, members or not: it informs those that were left out. */
    final AgreementMessage message() {
        version++;
        return new AgreementMessage(
                version, record(), proposal, Arrays.asList(suspects), dead(), deadPromised, deadAccepted, (BitSet)
                        deadUnread.clone());
    }

    /** The members of this epoch that are proved dead, by this rank or by others. */
    final BitSet dead() {
        return (BitSet) dead.clone();
    }

    /** Number of them that count in a quorum, because their final records are not known. */
    final int deadWithoutRecord() {
        return deadUnread.cardinality();
    }

    /** Why this rank wants to leave another one out; {@link RankStatus#MEMBER} if it does not. */
    final RankStatus suspicion(int rank) {
        return suspects[rank];
    }

    /** Returns whether another member has sent a message of this epoch. */
    final boolean hasMessageOf(int rank) {
        return messageOf(rank) != null;
    }

    /** Requests an agreement on the epoch that follows {@code epoch}, unless it is decided already. */
    final void begin(long epoch) {
        wanted |= epoch == membership.epoch();
    }

    /** Suspects a rank, for a reason that is not a proof; {@link RankStatus#MEMBER} takes this back. */
    final void suspect(int rank, RankStatus reason) {
        suspects[rank] = reason;
        evaluate();
    }

    /**
     * Records that the process of a rank has ended.
     *
     * @param last the rank's stored record, which cannot change any more
     */
    final void proveDead(int rank, AcceptorRecord last) {
        if (unread.get(rank)) {
            // This rank may have promised a ballot without this record.
            return;
        }
        finalRecords.put(rank, last);
        count(rank, last);
        evaluate();
    }

    /** Records that the user vouches for the death of a rank whose record cannot be read. */
    final void vouchDead(int rank) {
        if (!finalRecords.containsKey(rank)) {
            putUnread(rank);
            count(rank, emptyRecord());
            evaluate();
        }
    }

    private void putUnread(int rank) {
        unread.set(rank);
        finalRecords.put(rank, emptyRecord());
    }

    private AcceptorRecord emptyRecord() {
        return new AcceptorRecord(Membership.first(ranks), Vote.NO_BALLOT, Vote.NONE);
    }

    /** Adopts a membership that was decided, if it is newer. */
    final void takeOver(Membership decided) {
        learn(decided);
        evaluate();
    }

    /** Handles a message of another rank. */
    final void receive(int from, AgreementMessage message) {
        AgreementMessage before = messages[from];
        if (!listensTo(from) || (before != null && before.version() >= message.version())) {
            return;
        }
        messages[from] = message;
        learn(message.acceptor().membership());
        if (message.epoch() != membership.epoch() || isExpelled() || !membership.has(from)) {
            return;
        }
        count(message);
        answer(message.proposal());
        evaluate();
    }

    /** Proposes if it is this rank's turn. */
    final void tick(long now) {
        evaluate();
        if (!wanted || isExpelled() || proposal.ballot() != Vote.NO_BALLOT) {
            return;
        }
        if (!attemptIsPlanned) {
            attemptIsPlanned = true;
            nextAttempt = now + delayOfAttempt();
        }
        if (now - nextAttempt >= 0) {
            attemptIsPlanned = false;
            attempts++;
            propose();
        }
    }

    /** Orders the first attempts by rank; later ones are further and further apart, so that one of them does not collide. */
    private long delayOfAttempt() {
        int before = 0;
        for (int r = 0; r < self; r++) {
            if (membership.has(r) && !dead.get(r) && suspects[r] == RankStatus.MEMBER) {
                before++;
            }
        }
        return attempts == 0 ? delay * before : (delay * (before + 1)) << Math.min(attempts, MOST_DOUBLINGS);
    }

    private void propose() {
        long newest = Math.max(promised, deadPromised);
        for (AgreementMessage message : messages) {
            if (message != null && message.epoch() == membership.epoch()) {
                newest = Math.max(newest, message.acceptor().promised());
            }
        }
        proposal = new Vote(ballotAbove(newest), List.of());
        answer(proposal);
        evaluate();
    }

    /** The lowest ballot of this rank that is higher than {@code ballot}. */
    long ballotAbove(long ballot) {
        return (ballot / ranks + 1) * ranks + self;
    }

    /** The acceptor: answers a proposal, also this rank's own. */
    private void answer(Vote vote) {
        if (vote.value().isEmpty()) {
            if (mayPromise(vote.ballot())) {
                promised = vote.ballot();
            }
        } else if (mayAccept(vote.ballot())) {
            promised = vote.ballot();
            accepted = vote;
        }
    }

    /**
     * Returns false for a rank that this one takes for dead without its record, for ever: ranks that have promised ballots without
     * it must not learn its decision afterwards.
     */
    boolean listensTo(int rank) {
        return !unread.get(rank);
    }

    /** Gives up the ballot, since one more rank is taken for dead without its record: older votes must not form a smaller quorum. */
    void onUnreadDeath() {
        giveUp();
    }

    boolean mayPromise(long ballot) {
        return ballot > promised;
    }

    boolean mayAccept(long ballot) {
        return ballot >= promised;
    }

    /** The proposer: proceeds if a quorum has answered, and gives up if a higher ballot has overtaken it. */
    private void evaluate() {
        if (proposal.ballot() == Vote.NO_BALLOT) {
            return;
        }
        if (isRefusedByDead()) {
            giveUp();
            return;
        }
        if (proposal.value().isEmpty() && isQuorum(promisers())) {
            // A value that some promiser or dead member has accepted may be decided already.
            Vote newest = newestVote(promisers());
            List<RankStatus> value = newest.ballot() == Vote.NO_BALLOT ? newValue() : newest.value();
            if (newest.ballot() != Vote.NO_BALLOT || isMajority(value)) {
                proposal = new Vote(proposal.ballot(), value);
                answer(proposal);
            }
        }
        if (!proposal.value().isEmpty() && isQuorum(voters())) {
            learn(membership.next(proposal.value()));
        } else if (isOvertaken()) {
            giveUp();
        }
    }

    /** A member that has died can give no answer; its final record does. */
    boolean isRefusedByDead() {
        return deadPromised > proposal.ballot();
    }

    private boolean isOvertaken() {
        return !ranksWhose(acceptor -> acceptor.promised() > proposal.ballot()).isEmpty();
    }

    private void giveUp() {
        proposal = Vote.NONE;
    }

    /** The newest message of another member, if it is of this epoch. */
    private @Nullable AgreementMessage messageOf(int rank) {
        AgreementMessage message = messages[rank];
        return message != null && membership.has(rank) && message.epoch() == membership.epoch() ? message : null;
    }

    private BitSet promisers() {
        return ranksWhose(acceptor -> acceptor.promised() == proposal.ballot());
    }

    private BitSet voters() {
        return ranksWhose(acceptor -> acceptor.accepted().ballot() == proposal.ballot());
    }

    /** Returns this rank and the members with a message of this epoch, as far as their promises and votes match. */
    private BitSet ranksWhose(Predicate<AcceptorRecord> answer) {
        BitSet matching = new BitSet(ranks);
        matching.set(self, answer.test(record()));
        for (int r = 0; r < ranks; r++) {
            AgreementMessage message = messageOf(r);
            if (r != self && message != null) {
                matching.set(r, answer.test(message.acceptor()));
            }
        }
        return matching;
    }

    /**
     * Returns whether answers are of more than half of the members that are not proved dead. A dead member whose final record was read
     * leaves the number of members; it is not counted for the proposal. One whose record is not known does not leave it: what it has
     * accepted with one member that lives may be decided. But all members that live are a quorum, too.
     */
    boolean isQuorum(BitSet answers) {
        BitSet living = (BitSet) answers.clone();
        living.andNot(dead);
        int all = membership.size() - dead.cardinality();
        return 2 * living.cardinality() > all + deadUnread.cardinality() || (all > 0 && living.cardinality() == all);
    }

    /** Returns whether the ranks that would continue are more than half of the members that are not proved dead. */
    boolean isMajority(List<RankStatus> value) {
        int living = 0;
        for (int r = 0; r < ranks; r++) {
            living += value.get(r) == RankStatus.MEMBER && !dead.get(r) ? 1 : 0;
        }
        return 2 * living > membership.size() - dead.cardinality();
    }

    Vote newestVote(BitSet promisers) {
        Vote newest = deadAccepted;
        for (int r = 0; r < ranks; r++) {
            AgreementMessage message = messageOf(r);
            if (promisers.get(r)) {
                newest = newest.newer(
                        r == self || message == null
                                ? accepted
                                : message.acceptor().accepted());
            }
        }
        return newest;
    }

    /**
     * Computes a value: the members without those that are proved dead, and without further ranks until none of the rest suspects
     * another one.
     *
     * <p>First among the ranks with a message of this epoch: the rank in the most pairs of which one suspects the other is left out
     * first, so that a rank which suspects all others is left out, and not they. Then those without a message that one of the rest
     * suspects: of a silent rank and the first that suspects it, the silent one.
     */
    private List<RankStatus> newValue() {
        List<RankStatus> value = new ArrayList<>(membership.statuses());
        BitSet[] pairs = new BitSet[ranks];
        for (int r = 0; r < ranks; r++) {
            pairs[r] = new BitSet(ranks);
            if (isDead(r)) {
                value.set(r, RankStatus.DEAD);
            }
        }
        for (int r = 0; r < ranks; r++) {
            for (int other = 0; other < ranks; other++) {
                if (isPresent(r) && isPresent(other) && suspects(r, other, value)) {
                    pairs[r].set(other);
                    pairs[other].set(r);
                }
            }
        }
        for (int r = mostPairs(pairs); r >= 0; r = mostPairs(pairs)) {
            value.set(r, reasonAgainst(r, pairs[r]));
            for (BitSet pair : pairs) {
                pair.clear(r);
            }
            pairs[r].clear();
        }
        for (int r = 0; r < ranks; r++) {
            for (int other = 0; other < ranks; other++) {
                if (!isPresent(other) && suspects(r, other, value)) {
                    value.set(other, reasonOf(r, other));
                }
            }
        }
        return value;
    }

    private boolean isPresent(int rank) {
        return rank == self || hasMessageOf(rank);
    }

    /** Returns whether one member of a value wants to leave another one out. */
    private boolean suspects(int rank, int other, List<RankStatus> value) {
        return rank != other
                && value.get(rank) == RankStatus.MEMBER
                && value.get(other) == RankStatus.MEMBER
                && reasonOf(rank, other) != RankStatus.MEMBER;
    }

    boolean isDead(int rank) {
        return dead.get(rank);
    }

    /** The rank in the most pairs, of several the highest; -1 if there are no pairs. */
    private static int mostPairs(BitSet[] pairs) {
        int most = -1;
        for (int r = 0; r < pairs.length; r++) {
            int count = pairs[r].cardinality();
            if (count > 0 && (most < 0 || count >= pairs[most].cardinality())) {
                most = r;
            }
        }
        return most;
    }

    /** Why {@code rank} wants to leave {@code other} out, as far as this rank knows. */
    private RankStatus reasonOf(int rank, int other) {
        AgreementMessage message = messageOf(rank);
        return rank == self
                ? suspects[other]
                : message == null ? RankStatus.MEMBER : message.suspects().get(other);
    }

    private RankStatus reasonAgainst(int rank, BitSet others) {
        List<RankStatus> reasons = others.stream()
                .mapToObj(r -> reasonOf(r, rank))
                .filter(reason -> reason != RankStatus.MEMBER)
                .collect(Collectors.toList());
        // The rank suspects others, which do not suspect it.
        return reasons.isEmpty() ? RankStatus.UNREACHABLE : reasons.get(0);
    }

    /** Adopts a newer membership. Promises and votes of older epochs are void. */
    private void learn(Membership newer) {
        if (newer.epoch() <= membership.epoch()) {
            return;
        }
        membership = newer;
        promised = Vote.NO_BALLOT;
        accepted = Vote.NONE;
        proposal = Vote.NONE;
        wanted = false;
        attempts = 0;
        attemptIsPlanned = false;
        dead.clear();
        deadPromised = Vote.NO_BALLOT;
        deadAccepted = Vote.NONE;
        deadUnread.clear();
        finalRecords.forEach(this::count);
    }

    /** Counts the final record of a rank that is proved dead; it may have a newer membership than this rank. */
    private void count(int rank, AcceptorRecord last) {
        learn(last.membership());
        if (!membership.has(rank)) {
            return;
        }
        boolean isNew = !dead.get(rank);
        dead.set(rank);
        if (!unread.get(rank)) {
            deadUnread.clear(rank);
        } else if (isNew) {
            deadUnread.set(rank);
            onUnreadDeath();
        }
        // A record of an older epoch: the rank has promised and accepted nothing in this one.
        if (last.membership().epoch() == membership.epoch()) {
            deadPromised = Math.max(deadPromised, last.promised());
            deadAccepted = deadAccepted.newer(last.accepted());
        }
    }

    /** Counts the dead of another member's message: deaths and final records are final, for all hosts. */
    void count(AgreementMessage message) {
        BitSet newUnread = (BitSet) message.deadUnread().clone();
        newUnread.andNot(dead);
        dead.or(message.dead());
        deadPromised = Math.max(deadPromised, message.deadPromised());
        deadAccepted = deadAccepted.newer(message.deadAccepted());
        BitSet read = (BitSet) message.dead().clone();
        read.andNot(message.deadUnread());
        deadUnread.andNot(read);
        if (!newUnread.isEmpty()) {
            deadUnread.or(newUnread);
            // A reported death is as final as one that this rank has found.
            newUnread.stream()
                    .filter(rank -> rank != self && !finalRecords.containsKey(rank))
                    .forEach(this::putUnread);
            onUnreadDeath();
        }
    }
}
