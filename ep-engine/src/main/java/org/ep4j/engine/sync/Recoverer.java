package org.ep4j.engine.sync;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.Recovery;
import org.ep4j.engine.membership.BufferMembership;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.Failures;
import org.ep4j.transport.NanoClock;

/**
 * Recovers a buffer, and masks ranks. To recover, the ranks agree on the members of the next epoch, then move the buffer into fresh
 * memory among these. A rank that is left out but runs can only access the memory before, which no member uses any more.
 */
public final class Recoverer {
    private final Numbers numbers;
    private final Peers<?> peers;
    private final Waits waits;
    private final Bootstrap bootstrap;
    private final Recoverability recoverability;
    /**
     * The position to which this rank rolled back when a recovery last returned here. A recovery can return on some ranks only:
     * these roll back to the smallest number that it reported and count from there, the others still count from an earlier
     * recovery. So ranks exchange positions, from which each computes its report: that may differ between ranks, but its smallest
     * number means the same operation on all of them. This holds also if a rank that was behind died before the others had its
     * number.
     */
    private long base;

    /** Ranks that have no part in the newest memory. */
    private Set<Integer> excluded = Set.of();

    private long maskClears;

    /** The operation numbers of an engine: how many operations of each kind this rank has begun. */
    public interface Numbers {
        /** High throughput, low-latency dispatch, low-latency combine. */
        long[] begun();

        /** Numbers the next operations after these, with nothing in flight. */
        void restart(long highThroughput, long dispatch, long combine);

        /** Prepares to use fresh memory, from {@link #moved} on; returns what frees that, called once before the memory is released. */
        default Runnable prepare(SymmetricMemory fresh) {
            return () -> {};
        }

        /** Handles the move into fresh memory; operations of high throughput before it have numbers up to this one. */
        default void moved(SymmetricMemory fresh, long highThroughput) {}

        /**
         * Ends all use of the memories before the one in use, which are to be released.
         *
         * @return false if a thread still uses one of them; then they are kept until the next recovery
         */
        default boolean freed() {
            return true;
        }
    }

    /** Allocates the memory into which a buffer moves. */
    public interface FreshMemory {
        /**
         * Allocates symmetric memory among some ranks, zeroed. Collective over them. Memory from before stays as it is.
         *
         * @param members bootstrap over {@code ranks}
         * @param ranks ascending, this one among them
         * @param epoch unique in the life of the buffer
         * @param longest time the call may take
         * @param preparation see {@link Numbers#prepare}; called before the members agree that all have allocated
         */
        SymmetricMemory allocate(
                Bootstrap members,
                List<Integer> ranks,
                long epoch,
                Duration longest,
                Function<SymmetricMemory, Runnable> preparation);

        /** Releases the newest memory, since this rank does not move there after all. */
        void dropNewest();

        /** Releases all memory except the newest. */
        void freeOlder();
    }

    /** Resources that a buffer needs to recover. */
    public record Resources(BufferMembership membership, FreshMemory memory) {}

    /** The resources of a recovery, or the {@code reason} why there are none. */
    public record Recoverability(Optional<Resources> resources, String reason) {}

    public Recoverer(Numbers numbers, Peers<?> peers, Waits waits, Bootstrap bootstrap, Recoverability recoverability) {
        this.numbers = numbers;
        this.peers = peers;
        this.waits = waits;
        this.bootstrap = bootstrap;
        this.recoverability = recoverability;
        recoverability.resources().ifPresent(resources -> {
            BufferMembership membership = resources.membership();
            waits.watch(membership);
            peers.setWaitCheck(() -> membership.requireMember("post"));
        });
    }

    /**
     * See {@link org.ep4j.EpBuffer#recover}.
     *
     * @param completed operations that this rank has completed since this method last returned
     * @throws EpUnavailableException if the buffer cannot recover
     */
    public Recovery recover(long completed, Deadline deadline) {
        Resources resources = recoverability
                .resources()
                .orElseThrow(() -> new EpUnavailableException(
                        "this buffer cannot recover: " + recoverability.reason()
                                + "; close this buffer, and join a new group without the lost ranks",
                        EpException.Recourse.REJOIN));
        Map<Integer, Long> positions = move(resources, completed, deadline);
        Map<Integer, Long> done = new TreeMap<>();
        positions.forEach((rank, position) -> done.put(rank, position - base));
        base = Collections.min(positions.values());
        return Recovery.of(excluded, done);
    }

    /**
     * See {@link org.ep4j.EpBuffer#mask}.
     *
     * @param finished whether all operations that this rank has begun have succeeded: then the masked rank has done its part of them,
     *     and accesses no memory here. If not, the buffer moves away from it
     * @param completed as in {@link #recover}
     * @throws EpStateException if the rank has not done its part, is not proved dead, and the buffer cannot move
     */
    public void mask(int rank, boolean finished, long completed, Deadline deadline) {
        Mask before = waits.mask();
        if (before.has(rank)) {
            return;
        }
        if (!finished && recoverability.resources().isEmpty() && mayRun(rank)) {
            throw new EpStateException(
                    peers.label(rank) + " may still write to this rank's memory, since an operation that"
                            + " this rank began did not complete, and this buffer cannot move into other memory: "
                            + recoverability.reason()
                            + "; if rank " + rank + " is on this host, end the process of rank " + rank
                            + " and call mask again; otherwise join a new group",
                    EpException.Recourse.REJOIN);
        }
        waits.mask(before.with(rank));
        if (!finished && recoverability.resources().isPresent()) {
            try {
                move(recoverability.resources().get(), completed, deadline);
            } catch (RuntimeException | Error e) {
                waits.mask(before);
                throw e;
            }
        }
    }

    /** Returns false if a rank is dead, or has left, which it does after its part. */
    private boolean mayRun(int rank) {
        return !bootstrap.isProvedDead(rank) && bootstrap.state(rank) != MemberState.LEFT;
    }

    /** Moves the buffer; returns the position of each member. */
    private Map<Integer, Long> move(Resources resources, long completed, Deadline deadline) {
        return resources
                .membership()
                .recover(
                        waits.mask().toSet(),
                        deadline.nanoTime(),
                        deadline.whole().toMillis(),
                        waits::requireRunning,
                        (members, ranks, epoch) -> move(resources, members, ranks, epoch, completed, deadline));
    }

    private Map<Integer, Long> move(
            Resources resources,
            Bootstrap members,
            List<Integer> ranks,
            long epoch,
            long completed,
            Deadline deadline) {
        FreshMemory memory = resources.memory();
        NanoClock clock = resources.membership().clock();
        // So a buffer takes at most twice its memory, unless a thread is inside a call with memory from before.
        if (numbers.freed()) {
            memory.freeOlder();
        }
        SymmetricMemory fresh = memory.allocate(members, ranks, epoch, left(deadline, clock), numbers::prepare);
        List<byte[]> all;
        try {
            // The last step: when it returns, all members have mapped the memory of all.
            byte[] mine = begun(Long.BYTES).putLong(base + completed).array();
            all = members.allGather("numbers", mine, left(deadline, clock));
        } catch (RuntimeException | Error e) {
            memory.dropNewest();
            if (e instanceof EpTimeoutException late) {
                EpFailure ofMember = late.failure();
                EpFailure ofRank =
                        ofMember.toBuilder().peer(ranks.get(ofMember.peer())).build();
                throw Failures.with(late, peers.about(ofRank).build(), late.recourse());
            }
            throw e;
        }
        long[] most = new long[3];
        Map<Integer, Long> byRank = new TreeMap<>();
        for (int i = 0; i < ranks.size(); i++) {
            byRank.put(ranks.get(i), raise(most, all.get(i)).getLong());
        }
        peers.moveTo(fresh);
        excluded = IntStream.range(0, peers.ranks())
                .filter(r -> !ranks.contains(r))
                .boxed()
                .collect(Collectors.toSet());
        waits.mask(Mask.of(excluded));
        numbers.moved(fresh, most[0]);
        restart(most);
        return byRank;
    }

    /** Begins a message with the numbers of this rank, with room for more bytes. */
    private ByteBuffer begun(int more) {
        ByteBuffer message = ByteBuffer.allocate(3 * Long.BYTES + more);
        for (long number : numbers.begun()) {
            message.putLong(number);
        }
        return message;
    }

    /** Raises numbers to those of a message; returns the rest of the message. */
    private static ByteBuffer raise(long[] most, byte[] message) {
        ByteBuffer theirs = ByteBuffer.wrap(message);
        for (int kind = 0; kind < most.length; kind++) {
            most[kind] = Math.max(most[kind], theirs.getLong());
        }
        return theirs;
    }

    /** A millisecond at least, so that a step which begins late still reports the missing rank. */
    private static Duration left(Deadline deadline, NanoClock clock) {
        return Duration.ofNanos(Math.max(1_000_000, deadline.nanoTime() - clock.nanoTime()));
    }

    /** Numbers the first operations of a new buffer. See {@link org.ep4j.config.EpKeys#FIRST_NUMBER}. */
    public void numberFrom(long first) {
        if (first > 1) {
            restart(new long[] {first - 1, first - 1, first - 1});
        }
    }

    private void restart(long[] most) {
        numbers.restart(most[0], most[1], most[2]);
        waits.restart(most[0], most[1], most[2]);
    }

    /** See {@link org.ep4j.EpBuffer#clearMasks}; {@code name} is the buffer's. */
    public void clearMasks(String name, Duration longest) {
        waits.requireMember("clear mask");
        for (int rank : waits.mask().toSet()) {
            if (excluded.contains(rank)) {
                throw notTakenBack(rank, "the buffer was moved into new memory without that rank");
            }
            if (bootstrap.state(rank) != MemberState.ALIVE) {
                throw notTakenBack(rank, "it is " + bootstrap.state(rank).name().toLowerCase(Locale.ROOT));
            }
        }
        maskClears++;
        try {
            meetUnmasked(name, longest);
        } catch (EpException e) {
            // As after a barrier, ranks may be one call apart, and a recovery would leave the masked ranks out for
            // good.
            throw Failures.rejoin(e, failure -> peers.about(failure).build());
        }
    }

    private void meetUnmasked(String name, Duration longest) {
        Optional<EpPeerLostException> unreachable = settleAll();
        byte[] mine = begun(Integer.BYTES)
                .putInt(unreachable.map(e -> e.failure().peer()).orElse(-1))
                .array();
        List<byte[]> all = bootstrap.allGather(name + "-clear-mask-" + maskClears, mine, longest);
        if (unreachable.isPresent()) {
            EpPeerLostException lost = unreachable.get();
            throw Failures.with(lost, lost.failure(), notUnmasked(lost.failure().peer()));
        }
        long[] most = new long[3];
        for (int r = 0; r < all.size(); r++) {
            int peer = raise(most, all.get(r)).getInt();
            if (peer >= 0) {
                throw notTakenBack(peer, "rank " + r + " cannot reach it");
            }
        }
        waits.mask(Mask.NONE);
        restart(most);
        // No rank sends before all have these numbers.
        bootstrap.barrier(name + "-mask-cleared-" + maskClears, longest);
    }

    /**
     * Waits until writes of operations that were broken off have arrived, before the ranks meet: so all of them learn of one that
     * cannot be reached while the masks are unchanged.
     */
    private Optional<EpPeerLostException> settleAll() {
        for (int r = 0; r < peers.ranks(); r++) {
            try {
                peers.settle(r);
            } catch (EpPeerLostException e) {
                if (e.failure().peer() == peers.rank()) {
                    throw e;
                }
                return Optional.of(e);
            }
        }
        return Optional.empty();
    }

    private EpPeerLostException notTakenBack(int rank, String why) {
        return new EpPeerLostException(
                "rank " + rank + " cannot be unmasked: " + why + "; "
                        + (waits.mask().has(rank) ? "leave it masked, or join a new group" : "join a new group"),
                peers.about("clear mask", rank).build(),
                notUnmasked(rank));
    }

    /** Ranks that have masked the lost one can continue with the mask; neither that rank nor one without the mask can. */
    private EpException.Recourse notUnmasked(int rank) {
        return waits.mask().has(rank) ? EpException.Recourse.FIX_CALL : EpException.Recourse.REJOIN;
    }
}
