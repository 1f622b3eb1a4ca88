package org.ep4j.engine.membership;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One rank's part in the agreement on the next membership: single-decree Paxos for each epoch, whose acceptors are the members of
 * the epoch. docs/internals/membership.md has the protocol and the reasons why each rule is needed.
 *
 * <p>The class has no threads, no connections and no clock. After each call its owner does two things, in this order: it stores
 * {@link #record} where the record outlives the process, and it sends {@link #message} to all other ranks. It repeats the message
 * from time to time, since messages may be lost. Not for use by several threads at once.
 */
class MembershipAgreement {
    /** After so many attempts the delay between attempts grows no more. */
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
    private final @Nullable AgreementMessage[] heard;
    private final Standing[] suspects;

    /** Final records of the ranks that this rank has proved dead, of all epochs; nothing for those without a record. */
    private final Map<Integer, AcceptorRecord> finalRecords = new TreeMap<>();
    /** Ranks that the user vouches are dead, as this rank or another one says. Their final records are not read any more. */
    private final BitSet unread = new BitSet();
    /** Members of this epoch that are proved dead and whose final record is part of the next two values. */
    private final BitSet dead = new BitSet();

    private long deadPromised = Vote.NO_BALLOT;
    private Vote deadAccepted = Vote.NONE;
    /** Those of them whose final record is not known. */
    private final BitSet deadUnread = new BitSet();

    /**
     * Starts in an epoch that no other rank of the group has left for longer than this one.
     *
     * @param self this rank
     * @param membership what all ranks start with
     * @param delay time between two attempts, in the unit of {@link #tick}: longer than a message usually takes
     */
    MembershipAgreement(int self, Membership membership, long delay) {
        this.self = self;
        this.ranks = membership.standings().size();
        this.delay = delay;
        this.membership = membership;
        this.heard = new AgreementMessage[ranks];
        this.suspects = new Standing[ranks];
        Arrays.fill(suspects, Standing.MEMBER);
    }

    /** The newest membership that this rank knows. */
    final Membership membership() {
        return membership;
    }

    /** True if the members of a newer epoch have left this rank out. */
    final boolean isExpelled() {
        return !membership.has(self);
    }

    /** What has to be stored before anything is sent. */
    final AcceptorRecord record() {
        return new AcceptorRecord(membership, promised, accepted);
    }

    /** What to send to all other ranks, members or not: those that were left out learn it from this message. */
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

    /** How many of them count in a quorum, because their final records are not known. */
    final int deadWithoutRecord() {
        return deadUnread.cardinality();
    }

    /** Why this rank wants to leave another one out; {@link Standing#MEMBER} if it does not. */
    final Standing suspicion(int rank) {
        return suspects[rank];
    }

    /** True if another member has sent a message of this epoch. */
    final boolean hasHeardOf(int rank) {
        return messageOf(rank) != null;
    }

    /** Wants an agreement on the epoch that follows {@code epoch}, unless it is decided already. */
    final void begin(long epoch) {
        wanted |= epoch == membership.epoch();
    }

    /** Wants to leave a rank out, for a reason that is not a proof; {@link Standing#MEMBER} takes this back. */
    final void suspect(int rank, Standing reason) {
        suspects[rank] = reason;
        evaluate();
    }

    /**
     * Takes note that the process of a rank has ended.
     *
     * @param last the rank's stored record, which nobody can change any more
     */
    final void proveDead(int rank, AcceptorRecord last) {
        if (unread.get(rank)) {
            // This rank may have promised to go on without what the record says.
            return;
        }
        finalRecords.put(rank, last);
        count(rank, last);
        evaluate();
    }

    /** Takes note that the user vouches for the death of a rank whose record nobody can read. */
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

    /** Takes over a membership that was decided, if it is newer. */
    final void takeOver(Membership decided) {
        learn(decided);
        evaluate();
    }

    /** Takes note of a message of another rank. */
    final void receive(int from, AgreementMessage message) {
        AgreementMessage before = heard[from];
        if (!hears(from) || (before != null && before.version() >= message.version())) {
            return;
        }
        heard[from] = message;
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

    /** The first attempts are in the order of ranks; later ones are further and further apart, so that one of them is alone. */
    private long delayOfAttempt() {
        int before = 0;
        for (int r = 0; r < self; r++) {
            if (membership.has(r) && !dead.get(r) && suspects[r] == Standing.MEMBER) {
                before++;
            }
        }
        return attempts == 0 ? delay * before : (delay * (before + 1)) << Math.min(attempts, MOST_DOUBLINGS);
    }

    private void propose() {
        long newest = Math.max(promised, deadPromised);
        for (AgreementMessage message : heard) {
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

    /** The acceptor: answers a proposal, this rank's own as well. */
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
     * False for a rank that this one takes for dead without its record, for ever: those that have promised to go on without it must not learn
     * from it afterwards what it has decided.
     */
    boolean hears(int rank) {
        return !unread.get(rank);
    }

    /** One more rank is taken for dead without its record: votes for a ballot that is older than that do not make fewer ranks a quorum. */
    void onUnreadDeath() {
        giveUp();
    }

    boolean mayPromise(long ballot) {
        return ballot > promised;
    }

    boolean mayAccept(long ballot) {
        return ballot >= promised;
    }

    /** The proposer: goes on if a quorum has answered, and gives up if a higher ballot has overtaken it. */
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
            List<Standing> value = newest.ballot() == Vote.NO_BALLOT ? newValue() : newest.value();
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
        long ballot = proposal.ballot();
        if (promised > ballot) {
            return true;
        }
        for (int r = 0; r < ranks; r++) {
            AgreementMessage message = messageOf(r);
            if (message != null && message.acceptor().promised() > ballot) {
                return true;
            }
        }
        return false;
    }

    private void giveUp() {
        proposal = Vote.NONE;
    }

    /** The newest message of another member, if it is of this epoch. */
    private @Nullable AgreementMessage messageOf(int rank) {
        AgreementMessage message = heard[rank];
        return message != null && membership.has(rank) && message.epoch() == membership.epoch() ? message : null;
    }

    private BitSet promisers() {
        BitSet promisers = new BitSet(ranks);
        for (int r = 0; r < ranks; r++) {
            AgreementMessage message = messageOf(r);
            long theirs = r == self
                    ? promised
                    : message == null ? Vote.NO_BALLOT : message.acceptor().promised();
            promisers.set(r, theirs == proposal.ballot());
        }
        return promisers;
    }

    private BitSet voters() {
        BitSet voters = new BitSet(ranks);
        for (int r = 0; r < ranks; r++) {
            AgreementMessage message = messageOf(r);
            Vote theirs = r == self
                    ? accepted
                    : message == null ? Vote.NONE : message.acceptor().accepted();
            voters.set(r, theirs.ballot() == proposal.ballot());
        }
        return voters;
    }

    /**
     * True for more than half of the members that are not proved dead. A dead member whose final record was read leaves
     * the number of members; it is not counted for the proposal. One whose record is not known does not leave it: what it has accepted
     * with one member that lives may be decided. But all members that live are a quorum, too.
     */
    boolean isQuorum(BitSet answers) {
        BitSet living = (BitSet) answers.clone();
        living.andNot(dead);
        int all = membership.size() - dead.cardinality();
        return 2 * living.cardinality() > all + deadUnread.cardinality() || (all > 0 && living.cardinality() == all);
    }

    /** True if the ranks that would go on are more than half of the members that are not proved dead. */
    boolean isMajority(List<Standing> value) {
        int living = 0;
        for (int r = 0; r < ranks; r++) {
            living += value.get(r) == Standing.MEMBER && !dead.get(r) ? 1 : 0;
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
     * The members without those that are proved dead, and without further ranks until none of the rest suspects another one.
     *
     * <p>First among the ranks that this one has heard in this epoch: the rank in the most pairs of which one suspects the other is
     * left out first, so that a rank which suspects all others is left out, and not they. Then those not heard that one of the rest
     * suspects: of a silent rank and the first that notices it, the silent one.
     */
    private List<Standing> newValue() {
        List<Standing> value = new ArrayList<>(membership.standings());
        BitSet[] pairs = new BitSet[ranks];
        for (int r = 0; r < ranks; r++) {
            pairs[r] = new BitSet(ranks);
            if (isDead(r)) {
                value.set(r, Standing.DEAD);
            }
        }
        for (int r = 0; r < ranks; r++) {
            for (int other = 0; other < ranks; other++) {
                if (isHeard(r) && isHeard(other) && suspects(r, other, value)) {
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
                if (!isHeard(other) && suspects(r, other, value)) {
                    value.set(other, reasonOf(r, other));
                }
            }
        }
        return value;
    }

    private boolean isHeard(int rank) {
        return rank == self || hasHeardOf(rank);
    }

    /** Whether one member of a value wants to leave another one out. */
    private boolean suspects(int rank, int other, List<Standing> value) {
        return rank != other
                && value.get(rank) == Standing.MEMBER
                && value.get(other) == Standing.MEMBER
                && reasonOf(rank, other) != Standing.MEMBER;
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
    private Standing reasonOf(int rank, int other) {
        AgreementMessage message = messageOf(rank);
        return rank == self
                ? suspects[other]
                : message == null ? Standing.MEMBER : message.suspects().get(other);
    }

    private Standing reasonAgainst(int rank, BitSet others) {
        List<Standing> reasons = others.stream()
                .mapToObj(r -> reasonOf(r, rank))
                .filter(reason -> reason != Standing.MEMBER)
                .collect(Collectors.toList());
        // A rank that suspects others which do not suspect it.
        return reasons.isEmpty() ? Standing.UNREACHABLE : reasons.get(0);
    }

    /** Takes over a newer membership. Everything that was said for older epochs is void. */
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

    /** Takes over the final record of a rank that is proved dead: it may know a newer membership than this rank does. */
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

    /** Takes over what another member says of the dead: deaths and final records are final, for all hosts. */
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
            // A death that was heard of is as final as one that this rank has found.
            newUnread.stream()
                    .filter(rank -> rank != self && !finalRecords.containsKey(rank))
                    .forEach(this::putUnread);
            onUnreadDeath();
        }
    }
}
