package org.ep4j.engine.sync;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.Counter;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;

/**
 * The membership of one buffer, agreed over the buffer itself, so that no single rank is needed for it. In every round each rank
 * publishes its operation numbers, the ranks that it holds lost, and what it knows of them. After a round in which all published
 * the same lost ranks it confirms them in the next one, and a round of confirmations alone ends it: what a rank published before
 * it gave up waiting cannot be taken for its agreement.
 *
 * <p><b>Who may go on.</b> The survivors need more than half of the last agreed membership, or half of it with its lowest rank, or a
 * proof that all other members are gone. Ranks that published a rank as lost never take that back. A rank that is gone still counts
 * while another one is missing: the two may have gone on together before it ended. So two parts never both go on.
 *
 * <p><b>Whose memory may be used again.</b> A lost rank that posts is cut off. One that maps memory of survivors must be proved to be
 * gone ({@link DeathProof}); where no survivor can prove that, all of them move to fresh memory ({@link FreshMemory}), and what a
 * rank that comes back still stores or reads lies in memory that nobody uses. It finds its {@linkplain Peers#expel membership word}
 * set before it returns a result.
 *
 * <p>For the thread that runs operations.
 */
public final class Recoverer {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Words of a block; from the second on operation numbers, see {@link Numbers#begun}. */
    private static final int ROUND = 0;

    private static final int COMPLETED = 4;
    private static final int CONFIRMING = 5;
    private static final int EPOCH = 6;
    private static final int KIND = 7;

    /** Bits of a rank's int in a block. */
    static final int LOST = 1;

    private static final int GONE = 2;
    private static final int MEMBER = 4;
    private static final int UNSAFE = 8;

    private static final long PAUSE_NANOS = 1_000_000;

    /**
     * System property with the number of the operation before a buffer's first one, the same on all ranks: tests start near
     * the ends of 32 and 64 bits, which no test reaches by counting.
     */
    private static final String FIRST_OPERATION = "org.ep4j.engine.first-operation";

    /** Why ranks agree; one cannot end as the other. */
    private enum Kind {
        RECOVERY(1),
        FENCE(2);

        private final long code;

        Kind(long code) {
            this.code = code;
        }
    }

    private final Numbers numbers;
    private final Peers<?> peers;
    private final Waits waits;
    private final Bootstrap bootstrap;
    private final DeathProof proofs;
    private final FreshMemory fresh;

    /** Numbers of operations after which all ranks began anew, see {@link Numbers#restart}. */
    private long[] restarted = new long[3];

    /** The last agreed membership, without ranks that were masked since. */
    private final Set<Integer> members;

    /** The round in which it was agreed. */
    private long epoch;

    /** Ranks that this one has published as lost; it never takes that back. */
    private final Set<Integer> held = new TreeSet<>();

    /** Masked ranks that touch no memory which is in use: gone, cut off, left behind, or done with all that they had begun. */
    private final Set<Integer> fenced = new TreeSet<>();

    /** Ranks that were left behind in old memory or whose way in is cut, for good. */
    private final Set<Integer> expelled = new TreeSet<>();

    /** Ranks because of which this one has moved last. */
    private Set<Integer> leftBehind = Set.of();

    /** Ranks that are not fenced off, since not all survivors could move. */
    private final Set<Integer> suspects = new TreeSet<>();

    private long round;
    private long maskClears;

    /** True when the head of a block is of ranks that agree on their masks, and not of a recovery. */
    static boolean isFence(long[] head) {
        return head[KIND] == Kind.FENCE.code;
    }

    /** The operation numbers of an engine: how many operations of each kind this rank has begun. */
    public interface Numbers {
        /** High throughput, low-latency dispatch, low-latency combine. */
        long[] begun();

        /** Numbers the next operations after these, with nothing in flight. */
        void restart(long highThroughput, long dispatch, long combine);

        /** Makes results void that lie in memory which this rank has moved away from; after {@link #restart}. */
        void moved();
    }

    /**
     * Creates the membership of one buffer, of which all ranks are members.
     *
     * @param waits look at the counters of {@code peers}
     */
    public Recoverer(
            Numbers numbers, Peers<?> peers, Waits waits, Bootstrap bootstrap, DeathProof proofs, FreshMemory fresh) {
        this.numbers = numbers;
        this.peers = peers;
        this.waits = waits;
        this.bootstrap = bootstrap;
        this.proofs = proofs;
        this.fresh = fresh;
        this.members = IntStream.range(0, peers.ranks()).boxed().collect(Collectors.toCollection(TreeSet::new));
    }

    /** Numbers the operations of a new buffer, where they do not start at 0. */
    public void start() {
        long first = Long.getLong(FIRST_OPERATION, 0);
        if (first > 0) {
            number(first, first, first);
        }
    }

    /** Implements {@link org.ep4j.EpBuffer#mask}; what the rank may still touch is fenced off by {@link #fence}. */
    public void mask(int rank) {
        if (!waits.mask().has(rank)) {
            if (peers.isPostedFrom(rank) && mayStillTouch(rank)) {
                cutOff(rank);
            }
            members.remove(rank);
        }
        waits.mask(waits.mask().with(rank));
    }

    private void cutOff(int rank) {
        if (!isGone(rank)) {
            peers.expel(rank);
        }
        peers.disconnect(rank);
        expelled.add(rank);
    }

    /** True when {@link #fence} has something to agree on before memory is used for another dispatch. */
    public boolean isFenceDue() {
        return waits.mask() != Mask.NONE && !fenced.containsAll(waits.mask().toSet());
    }

    /**
     * Makes sure that ranks masked since the last agreement touch no memory which is used from here on. Collective over the ranks
     * that are not masked, which have masked the same ones.
     *
     * @return true when the buffer has moved, and operations that were under way are void
     */
    public boolean fence(Deadline deadline) {
        Set<Integer> masked = waits.mask().toSet();
        Agreed agreed = agree(Kind.FENCE, 0, deadline);
        if (agreed.moved()) {
            number(agreed.newest(1) + 1, agreed.newest(2), agreed.newest(3));
            numbers.moved();
        }
        fenced.addAll(masked);
        return agreed.moved();
    }

    /**
     * True unless a rank has said that it is done with all that this rank has begun with it: it may be in one of these operations, or
     * come to it later, and store where later operations have other rows, or read in place what they overwrite. A dispatch of
     * low latency is an order for a combine, which nobody asks back for.
     */
    private boolean mayStillTouch(int rank) {
        long[] begun = numbers.begun();
        try {
            return lacks(highThroughputEnd(rank, begun[0]), rank, begun[0], restarted[0])
                    || lacks(Counter.LL_COMBINE, rank, begun[2], restarted[2])
                    || begun[1] - restarted[1] != begun[2] - restarted[2];
        } catch (EpPeerLostException e) {
            return true;
        }
    }

    /** The counter by which a rank ends an operation: one that reads in place says so later than that its rows are here. */
    private Counter highThroughputEnd(int rank, long number) {
        boolean reads = peers.maps(rank)
                && OperationNames.isCombine(peers.readBlock(Block.HIGH_THROUGHPUT, number, rank)[OperationNames.KIND]);
        return reads ? Counter.HT_DONE : Counter.HT_DATA;
    }

    private boolean lacks(Counter counter, int rank, long begun, long since) {
        return begun > since && !peers.reached(counter, rank, begun);
    }

    private boolean isGone(int rank) {
        return proofs.isGone(rank) || (bootstrap.state(rank) == MemberState.LEFT && !proofs.isHeld(rank));
    }

    /**
     * True when {@code rank}, which is held lost, could still store into this rank's memory or read it in place, unless it is gone.
     */
    private boolean isUnsafe(int rank) {
        if (fenced.contains(rank) || !peers.mayReach(rank)) {
            return false;
        }
        // One that was masked in good order is done; of one that was lost nothing is known.
        return suspects.contains(rank) || !waits.mask().has(rank) || mayStillTouch(rank);
    }

    /**
     * Frees memory from before the last move. For the end of an operation that has heard of all survivors: all of them are in the
     * memory to which they moved last, and none needs the one before any more.
     */
    public void completed() {
        if (peers.hasMoved()) {
            peers.forgetOlder();
            try {
                fresh.freeOlder();
            } catch (RuntimeException | Error e) {
                // The operation has ended well on all ranks.
                LOG.log(System.Logger.Level.WARNING, "memory from before a move could not be given back", e);
            }
        }
    }

    /** See {@link org.ep4j.EpBuffer#recover}. */
    public Recovery recover(long completed, Deadline deadline) {
        Agreed agreed = agree(Kind.RECOVERY, completed, deadline);
        waits.mask(Mask.of(agreed.lost()));
        fenced.addAll(agreed.lost());
        // Results from before a move have other numbers than any after it.
        number(agreed.newest(1) + (agreed.moved() ? 1 : 0), agreed.newest(2), agreed.newest(3));
        if (agreed.moved()) {
            numbers.moved();
        }
        Map<Integer, Long> done = new TreeMap<>();
        agreed.heads().forEach((rank, words) -> done.put(rank, words[COMPLETED]));
        return new Recovery(agreed.lost(), done);
    }

    /**
     * What the survivors have agreed on; equal on all of them.
     *
     * @param lost ranks, masked ones among them
     * @param heads words of the last round's blocks, by survivor
     * @param moved whether the buffer is in fresh memory
     */
    private record Agreed(Set<Integer> lost, Map<Integer, long[]> heads, boolean moved) {
        long newest(int word) {
            return heads.values().stream().mapToLong(words -> words[word]).max().orElse(0);
        }
    }

    private Agreed agree(Kind kind, long completed, Deadline deadline) {
        while (true) {
            try {
                return agreeHere(kind, completed, deadline);
            } catch (Waits.NotMovedException e) {
                peers.moveBack();
                fresh.freeNewest();
                suspects.addAll(leftBehind);
                fenced.removeAll(leftBehind);
                round = Math.max(round, e.round() - 1);
            }
        }
    }

    private Agreed agreeHere(Kind kind, long completed, Deadline deadline) {
        Set<Integer> lost = new TreeSet<>(waits.mask().toSet());
        lost.addAll(held);
        boolean confirming = false;
        Optional<EpPeerLostException> minority = Optional.empty();
        round = Math.max(round, newestRound(lost) - 1);
        while (true) {
            Set<Integer> before = Set.copyOf(lost);
            settle(lost);
            addLost(lost);
            requireNoLoss(kind, lost);
            confirming &= lost.equals(before);
            round++;
            Set<Integer> union = publish(kind, lost, completed, confirming);
            Map<Integer, long[]> heads = new TreeMap<>();
            Map<Integer, int[]> views = new TreeMap<>();
            boolean agreed = true;
            boolean confirmed = true;
            long ahead = 0;
            for (int r = 0; r < peers.ranks(); r++) {
                // Also a rank that another survivor holds lost: it will not publish, and is masked in this wait.
                if (union.contains(r) || !await(r, union, deadline, minority)) {
                    agreed &= lost.contains(r);
                    continue;
                }
                long[] head = peers.readBlock(Block.RECOVER, round, r);
                int[] view = peers.readInts(Block.RECOVER, round, r);
                if (head[ROUND] != round) {
                    // It gave up a wait, began again from what it saw of others, and was faster than this rank.
                    ahead = Math.max(ahead, head[ROUND]);
                    agreed = false;
                    continue;
                }
                requireSameKind(kind, head[KIND], r);
                heads.put(r, head);
                views.put(r, view);
                Set<Integer> theirs = ranksWith(view, LOST);
                agreed &= theirs.equals(lost) && head[KIND] == kind.code;
                confirmed &= head[CONFIRMING] != 0;
                union.addAll(theirs);
            }
            if (union.contains(peers.rank())) {
                throw waits.expelled("recover");
            }
            if (agreed && confirmed && mayGoOn(heads, views)) {
                Optional<Agreed> adopted = adopt(lost, heads, views, deadline);
                if (adopted.isPresent()) {
                    return adopted.get();
                }
                agreed = false;
            } else if (agreed && confirmed) {
                minority = Optional.of(minority(heads, views));
                if (deadline.passed() || waits.isClosing()) {
                    throw minority.get();
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
            round = Math.max(round, ahead - 1);
            confirming = agreed;
            lost = union;
        }
    }

    /** The newest round that some rank has begun; ranks that cannot be heard any more become {@code lost}. */
    private long newestRound(Set<Integer> lost) {
        long newest = 0;
        for (int r = 0; r < peers.ranks(); r++) {
            if (!lost.contains(r)) {
                try {
                    newest = Math.max(newest, peers.seen(Counter.RECOVER, r));
                } catch (EpPeerLostException e) {
                    lost.add(r);
                }
            }
        }
        return newest;
    }

    /**
     * Nothing of what was broken off may arrive later than what comes after the recovery; nor may a rank's block arrive later than
     * that of two rounds after, which has its place: a rank that joins in a later round has waited for none before.
     */
    private void settle(Set<Integer> lost) {
        for (int r = 0; r < peers.ranks(); r++) {
            if (!lost.contains(r)) {
                try {
                    peers.settle(r);
                } catch (EpPeerLostException e) {
                    lost.add(r);
                }
            }
        }
    }

    private void addLost(Set<Integer> lost) {
        for (int r = 0; r < peers.ranks(); r++) {
            if (r == peers.rank()) {
                waits.requireMember("recover");
            } else if (!lost.contains(r) && (bootstrap.state(r) != MemberState.ALIVE || proofs.isGone(r))) {
                lost.add(r);
            }
        }
    }

    /** A fence is for masked ranks alone: what else is lost is for the caller to know, and for {@link #recover} to agree on. */
    private void requireNoLoss(Kind kind, Set<Integer> lost) {
        if (kind == Kind.FENCE) {
            for (int rank : lost) {
                if (!waits.mask().has(rank)) {
                    throw new EpPeerLostException(
                            peers.label(rank) + " is lost; call recover to go on without it",
                            rank,
                            "mask",
                            peers.pathTo(rank));
                }
            }
        }
    }

    private void requireSameKind(Kind mine, long theirs, int rank) {
        if (mine == Kind.FENCE && theirs == Kind.RECOVERY.code) {
            throw new EpTimeoutException(
                    peers.label(rank)
                            + " has given up and recovers, so the ranks masked here cannot be agreed on; call recover"
                            + " here too",
                    "mask",
                    rank,
                    mine.code,
                    theirs,
                    peers.pathTo(rank));
        }
    }

    /** Waits for a rank's publication; false when it dies meanwhile, which puts it into {@code union}. */
    private boolean await(int rank, Set<Integer> union, Deadline deadline, Optional<EpPeerLostException> minority) {
        Mask before = waits.mask();
        while (true) {
            // Others that are known to be lost must not end this wait.
            waits.mask(Mask.of(union));
            try {
                waits.await(Counter.RECOVER, rank, round, deadline, "recover");
                return true;
            } catch (EpPeerLostException e) {
                if (e.peer() == peers.rank()) {
                    throw e;
                }
                union.add(e.peer());
                if (e.peer() == rank) {
                    return false;
                }
            } catch (EpTimeoutException e) {
                // The others of a part that may not go on have given up before.
                throw minority.<EpException>map(m -> m).orElse(e);
            } finally {
                waits.mask(before);
            }
        }
    }

    /** Gives those that are held lost now: {@code lost} and those that could not be reached. */
    private Set<Integer> publish(Kind kind, Set<Integer> lost, long completed, boolean confirming) {
        Set<Integer> union = new TreeSet<>(lost);
        held.addAll(lost);
        long[] begun = numbers.begun();
        long[] words = {round, begun[0], begun[1], begun[2], completed, confirming ? 1 : 0, epoch, kind.code};
        int[] view = new int[peers.ranks()];
        for (int r = 0; r < view.length; r++) {
            view[r] = (members.contains(r) ? MEMBER : 0);
            if (lost.contains(r)) {
                view[r] |= LOST | (isGone(r) ? GONE : 0) | (isUnsafe(r) ? UNSAFE : 0);
            }
        }
        for (int r = 0; r < peers.ranks(); r++) {
            if (lost.contains(r)) {
                continue;
            }
            try {
                peers.writeBlock(r, Block.RECOVER, round, words, view);
                peers.advance(r, Counter.RECOVER, round);
            } catch (EpPeerLostException e) {
                union.add(r);
            }
        }
        return union;
    }

    private static Set<Integer> ranksWith(int[] view, int bit) {
        return IntStream.range(0, view.length)
                .filter(r -> (view[r] & bit) != 0)
                .boxed()
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Ranks for which some survivor's block has a bit. */
    private static Set<Integer> union(Map<Integer, int[]> views, int bit) {
        Set<Integer> all = new TreeSet<>();
        views.values().forEach(view -> all.addAll(ranksWith(view, bit)));
        return all;
    }

    /** The last membership that some survivor has adopted. */
    private static Set<Integer> electorate(Map<Integer, long[]> heads, Map<Integer, int[]> views) {
        int newest = -1;
        long newestEpoch = -1;
        for (Map.Entry<Integer, long[]> head : heads.entrySet()) {
            if (head.getValue()[EPOCH] > newestEpoch) {
                newestEpoch = head.getValue()[EPOCH];
                newest = head.getKey();
            }
        }
        int[] view = views.get(newest);
        return view == null ? new TreeSet<>() : ranksWith(view, MEMBER);
    }

    /** Whether the survivors are the part of the membership that goes on; the same on all of them. */
    private static boolean mayGoOn(Map<Integer, long[]> heads, Map<Integer, int[]> views) {
        Set<Integer> electorate = electorate(heads, views);
        int survivors = heads.size();
        Set<Integer> missing = new TreeSet<>(electorate);
        missing.removeAll(heads.keySet());
        return union(views, GONE).containsAll(missing)
                || 2 * survivors > electorate.size()
                || (2 * survivors == electorate.size()
                        && heads.keySet().stream()
                                .mapToInt(r -> r)
                                .min()
                                .equals(electorate.stream().mapToInt(r -> r).min()));
    }

    /** The error of a part that may not go on. What is missing may yet come: a proof that others are gone, or their word. */
    private EpPeerLostException minority(Map<Integer, long[]> heads, Map<Integer, int[]> views) {
        Set<Integer> electorate = electorate(heads, views);
        Set<Integer> unproved = new TreeSet<>(electorate);
        unproved.removeAll(heads.keySet());
        unproved.removeAll(union(views, GONE));
        return new EpPeerLostException(
                "rank " + peers.rank() + " may not go on: of the members " + electorate + " only " + heads.keySet()
                        + " agree, which is neither more than half of them nor half with the lowest, and ranks "
                        + unproved
                        + " are not proved to have ended, so they may go on; end their processes and call recover again, or"
                        + " close the buffer and join a new group",
                peers.rank(),
                "recover");
    }

    /** Makes what was agreed this rank's own; empty when another rank was lost meanwhile. */
    private Optional<Agreed> adopt(
            Set<Integer> lost, Map<Integer, long[]> heads, Map<Integer, int[]> views, Deadline deadline) {
        Set<Integer> gone = union(views, GONE);
        Set<Integer> unsafe = union(views, UNSAFE);
        unsafe.removeAll(gone);
        for (int rank : lost) {
            // One that was masked before was cut off then, unless it was done.
            if (!waits.mask().has(rank) || unsafe.contains(rank)) {
                if (!gone.contains(rank)) {
                    peers.expel(rank);
                }
                peers.disconnect(rank);
                expelled.add(rank);
            }
        }
        if (!unsafe.isEmpty()) {
            try {
                peers.move(fresh.make(round, lost, deadline));
                leftBehind = Set.copyOf(unsafe);
                suspects.clear();
            } catch (EpPeerLostException e) {
                if (e.peer() == peers.rank() || lost.contains(e.peer()) || deadline.passed()) {
                    throw e;
                }
                return Optional.empty();
            }
        }
        members.removeAll(lost);
        epoch = round;
        waits.recovered(round);
        return Optional.of(new Agreed(Set.copyOf(lost), heads, !unsafe.isEmpty()));
    }

    /** See {@link org.ep4j.EpBuffer#clearMask}; {@code name} is the buffer's. */
    public void clearMask(String name, Duration longest) {
        for (int rank : waits.mask().toSet()) {
            if (bootstrap.state(rank) != MemberState.ALIVE) {
                throw notTakenBack(rank, "it is " + bootstrap.state(rank).name().toLowerCase(Locale.ROOT));
            }
        }
        maskClears++;
        Optional<EpPeerLostException> unreachable = settleAll();
        var mine = ByteBuffer.allocate(28);
        for (long number : numbers.begun()) {
            mine.putLong(number);
        }
        mine.putInt(unreachable.map(EpPeerLostException::peer).orElse(-1));
        long[] most = new long[3];
        List<byte[]> all = bootstrap.allGather(name + "-clear-mask-" + maskClears, mine.array(), longest);
        if (unreachable.isPresent()) {
            throw unreachable.get();
        }
        for (int r = 0; r < all.size(); r++) {
            var words = ByteBuffer.wrap(all.get(r));
            for (int i = 0; i < most.length; i++) {
                most[i] = Math.max(most[i], words.getLong());
            }
            int peer = words.getInt();
            if (peer >= 0) {
                throw notTakenBack(peer, "rank " + r + " cannot reach it");
            }
        }
        members.addAll(waits.mask().toSet());
        held.clear();
        fenced.clear();
        waits.mask(Mask.NONE);
        number(most[0], most[1], most[2]);
        // Nobody sends before everybody has taken the numbers.
        bootstrap.barrier(name + "-mask-cleared-" + maskClears, longest);
    }

    /**
     * Nothing of what was broken off may arrive later than what comes after: done before the ranks meet, so that all of them
     * learn of one that cannot be reached while all masks are still as they were.
     */
    private Optional<EpPeerLostException> settleAll() {
        for (int r = 0; r < peers.ranks(); r++) {
            if (expelled.contains(r)) {
                return Optional.of(notTakenBack(
                        r,
                        "it was fenced off when it was masked or lost, since it could still have written to this rank's"
                                + " memory"));
            }
            try {
                peers.settle(r);
            } catch (EpPeerLostException e) {
                return Optional.of(e);
            }
        }
        return Optional.empty();
    }

    private static EpPeerLostException notTakenBack(int rank, String why) {
        return new EpPeerLostException(
                "rank " + rank + " cannot be taken back: " + why + "; leave it masked, or join a new group",
                rank,
                "clear mask");
    }

    /** Numbers the next operations after these. */
    private void number(long high, long dispatch, long combine) {
        restarted = new long[] {high, dispatch, combine};
        numbers.restart(high, dispatch, combine);
        waits.begin(Counter.HT_ENTER, high);
        waits.begin(Counter.LL_DISPATCH, dispatch);
        waits.begin(Counter.LL_COMBINE, combine);
    }
}
