package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Function;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.KnownPeers;
import org.ep4j.transport.memory.Words;

/**
 * The symmetric memory of all ranks as this rank reaches it, and the counters in it.
 *
 * <p>Another rank is written in the same way whether it is mapped or posted to: ask for a {@link #place}, put the bytes there
 * in {@link #through}, and {@link #advance} a counter when all is written. For the thread that runs operations, but for
 * {@link #seen} and what is read.
 *
 * @param <W> how memory is reached
 */
public final class Peers<W extends Words> {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final int rank;
    private final GroupPlan plan;
    private final KnownPeers known;
    private final BufferLayout layout;
    private final Function<DeviceMemory, W> access;
    private volatile List<W> stored = List.of();
    /** Where peers that post write. */
    private volatile W window;
    /** Where it is told what has come from them. */
    private volatile W counters;

    private volatile Runnable check = () -> {};
    private volatile Map<Integer, PostedPeer> postedTo = Map.of();
    private volatile Map<Integer, HostPosted> postedFrom = Map.of();
    private volatile DeviceMemory symmetric;
    /** By counter and rank: what was seen of ranks that post. */
    private final AtomicLongArray heard;

    private volatile Deadline deadline;

    /**
     * Over symmetric memory.
     *
     * @param access to memory that this rank stores into
     * @param deadline of what is done before {@link #until} is called
     */
    public Peers(
            GroupPlan plan,
            BufferLayout layout,
            SymmetricMemory symmetric,
            Function<DeviceMemory, W> access,
            Deadline deadline) {
        this.plan = plan;
        this.rank = symmetric.rank();
        this.known = new KnownPeers(plan, rank);
        this.layout = layout;
        this.deadline = deadline;
        this.access = access;
        this.heard = new AtomicLongArray(Counter.values().length * plan.ranks());
        this.symmetric = symmetric.local();
        this.window = access.apply(symmetric.local());
        this.counters = window;
        moveTo(symmetric);
    }

    /**
     * Continues in fresh memory, in which all counters are 0. Nothing of the memory before is written or read from here on. Ranks that
     * are not in the fresh memory have to be masked. While no other thread uses this object but to read results.
     */
    public void moveTo(SymmetricMemory fresh) {
        List<W> all = new ArrayList<>();
        W local = access.apply(fresh.local());
        W posts = fresh.window().map(w -> access.apply(w.memory())).orElse(local);
        for (int r = 0; r < plan.ranks(); r++) {
            DeviceMemory mapped = fresh.mapped().get(r);
            if (r == rank) {
                all.add(local);
            } else if (fresh.postedTo().containsKey(r)) {
                all.add(posts);
            } else {
                // A rank that is not there has no bytes: what tries to reach it all the same fails.
                all.add(access.apply(mapped == null ? fresh.local().slice(0, 0) : mapped));
            }
        }
        symmetric = fresh.local();
        window = posts;
        counters = fresh.window().map(w -> access.apply(w.counters())).orElse(local);
        for (int i = 0; i < heard.length(); i++) {
            heard.set(i, 0);
        }
        postedTo = postedTo(
                fresh,
                fresh.window().map(SymmetricMemory.Window::staging).orElse(layout.staging(0)),
                fresh.window().map(SymmetricMemory.Window::stagingBytes).orElse(layout.stagingBytes()));
        fresh.postedTo().values().forEach(posted -> posted.setWaitCheck(check));
        postedFrom = fresh.postedFrom();
        stored = List.copyOf(all);
    }

    /**
     * Sets what ends calls that wait for room, here and in all memory that this moves to: see
     * {@link HostPosted#setWaitCheck}.
     */
    public void setWaitCheck(Runnable next) {
        check = next;
        postedTo.values().forEach(peer -> peer.setWaitCheck(next));
    }

    private Map<Integer, PostedPeer> postedTo(SymmetricMemory symmetric, long staging, long bytes) {
        Map<Integer, PostedPeer> all = new TreeMap<>();
        symmetric
                .postedTo()
                .forEach((peer, posted) -> all.put(
                        peer, new PostedPeer(posted, peer, layout::isLowLatency, staging + peer * bytes, bytes)));
        return all;
    }

    /** This rank's own memory, as an address. */
    public DeviceMemory symmetric() {
        return symmetric;
    }

    public int rank() {
        return rank;
    }

    public int ranks() {
        return stored.size();
    }

    public BufferLayout layout() {
        return layout;
    }

    /** Until when the calls of the operation that begins may wait. What an operation before it left unposted is dropped. */
    public void until(Deadline end) {
        deadline = end;
        if (!postedTo.isEmpty()) {
            postedTo.values().forEach(PostedPeer::drop);
        }
    }

    /** True when this rank writes {@code peer} by posting, and so cannot read its memory. */
    public boolean isPostedTo(int peer) {
        return postedTo.containsKey(peer);
    }

    /** True when {@code peer} writes this rank by posting, and so cannot read this rank's memory. */
    public boolean isPostedFrom(int peer) {
        return postedFrom.containsKey(peer);
    }

    /** The memory of {@code peer}, which is mapped. */
    public W memory(int peer) {
        if (isPostedTo(peer)) {
            throw new IllegalStateException("the memory of " + label(peer) + " is not mapped");
        }
        return stored.get(peer);
    }

    public W local() {
        return stored.get(rank);
    }

    /** The memory of this rank in which blocks of {@code source} are. */
    public W writtenBy(int source) {
        return isPostedFrom(source) ? window : local();
    }

    /** The memory in which a {@link #place} is. */
    public W through(int peer) {
        return stored.get(peer);
    }

    /**
     * Where in {@link #through} to put what is to be at {@code offset} in the memory of {@code peer}. It is written before
     * the next call that concerns the peer.
     */
    public long place(int peer, long offset, long bytes) {
        PostedPeer posted = postedTo.get(peer);
        return posted == null ? offset : posted.place(offset, bytes, deadline);
    }

    /**
     * Writes what is in this rank's symmetric memory to a peer that is posted to, from where it lies: it stays as it is until
     * {@link #drain}.
     */
    public void write(int peer, long offset, long source, long bytes) {
        posted(peer).write(offset, source, bytes);
    }

    /**
     * Waits until what was written to a peer by {@link #write} may be changed, which is so for a peer that is lost. Nothing
     * to do for one that is mapped.
     */
    public void drain(int peer) {
        PostedPeer posted = postedTo.get(peer);
        if (posted != null) {
            try {
                posted.drain(deadline);
            } catch (EpPeerLostException e) {
                ignoreLost(e);
            }
        }
    }

    /**
     * Forgets what is placed and not yet posted, and waits until all that was posted has arrived; nothing of an operation
     * that was broken off comes after this.
     *
     * @throws EpPeerLostException when the peer cannot be reached
     */
    public void settle(int peer) {
        PostedPeer posted = postedTo.get(peer);
        if (posted != null) {
            posted.settle(deadline);
        }
    }

    /** Lets what was posted arrive, as far as it can until the deadline, before this rank gives its memory back. */
    public void finish(Mask mask) {
        postedTo.forEach((peer, posted) -> {
            if (!mask.has(peer)) {
                try {
                    posted.settle(deadline);
                } catch (EpException e) {
                    LOG.log(System.Logger.Level.DEBUG, "writes posted to a rank do not arrive", e);
                }
            }
        });
    }

    private PostedPeer posted(int peer) {
        PostedPeer posted = postedTo.get(peer);
        if (posted == null) {
            throw new IllegalStateException("this rank has no posted path to " + label(peer));
        }
        return posted;
    }

    /** Second half of a counted write: what was written to {@code peer} before is seen by whoever sees the counter. */
    public void advance(int peer, Counter counter, long value) {
        PostedPeer posted = postedTo.get(peer);
        if (posted != null) {
            posted.advance(counter, value);
        } else {
            stored.get(peer).advance(layout.counter(counter, rank), value);
        }
    }

    /** As {@link #advance}, for what a peer that is lost does not miss: the next operation tells that it is. */
    public void tell(int peer, Counter counter, long value) {
        try {
            advance(peer, counter, value);
        } catch (EpPeerLostException e) {
            ignoreLost(e);
        }
    }

    private void ignoreLost(EpPeerLostException e) {
        if (e.failure().peer() == rank) {
            // The others have left this rank out.
            throw e;
        }
        LOG.log(System.Logger.Level.DEBUG, "no more counters can be sent to or received from a rank", e);
    }

    /**
     * Value of {@code source}'s counter in this rank's memory.
     *
     * @throws EpPeerLostException when the source posts and cannot be heard any more
     */
    public long seen(Counter counter, int source) {
        HostPosted posted = postedFrom.get(source);
        if (posted == null) {
            return local().getLongAcquire(layout.counter(counter, source));
        }
        int number = BufferLayout.number(counter);
        long value = posted.counter(number, source);
        heard.accumulateAndGet(number * ranks() + source, value, Math::max);
        return value;
    }

    /**
     * Sleeps until {@code source} advances a counter that has not reached a value, or for a short time; may return early.
     *
     * @return false, at once, where nothing would wake this thread
     */
    boolean sleep(Counter counter, int source, long value) {
        if (isPostedFrom(source)) {
            return false;
        }
        long seen = seen(counter, source);
        return seen >= value || local().sleep(layout.counter(counter, source), seen);
    }

    /** The newest value of a counter that was {@link #seen}; also of a source that is lost. */
    public long heard(Counter counter, int source) {
        if (!isPostedFrom(source)) {
            return local().getLongAcquire(layout.counter(counter, source));
        }
        long seen = heard.get(BufferLayout.number(counter) * ranks() + source);
        // Whoever else looks at arrivals keeps them there.
        return window == local() ? seen : Math.max(seen, counters.getLongAcquire(layout.counter(counter, source)));
    }

    /**
     * True when {@code source}'s counter has a value or a larger one. What has been seen stays so when the source is lost
     * later, which {@link #seen} does not say of one that posts.
     */
    public boolean reached(Counter counter, int source, long value) {
        return (isPostedFrom(source) && heard(counter, source) >= value) || seen(counter, source) >= value;
    }

    /** As {@link #reached}, of a source that may be lost: what can never come has not. */
    boolean hasReached(Counter counter, int source, long value) {
        try {
            return reached(counter, source, value);
        } catch (EpPeerLostException e) {
            ignoreLost(e);
            return false;
        }
    }

    /**
     * Writes this rank's block at {@code peer}; the counter that goes with it is advanced afterwards.
     *
     * @param words at most {@link BufferLayout#BLOCK_WORDS}
     * @param ints at most R
     */
    public void writeBlock(int peer, Block block, long number, long[] words, int[] ints) {
        long bytes = BufferLayout.blockInts() + 4L * ints.length;
        long offset = place(peer, layout.block(block, number, rank), bytes);
        W memory = through(peer);
        for (int i = 0; i < words.length; i++) {
            memory.putLong(offset + 8L * i, words[i]);
        }
        for (int i = 0; i < ints.length; i++) {
            memory.putInt(offset + BufferLayout.blockInts() + 4L * i, ints[i]);
        }
    }

    /**
     * Reads the head of {@code source}'s block.
     *
     * @param words filled with the first words of the block; no longer than {@link BufferLayout#BLOCK_WORDS}
     */
    public void readBlock(Block block, long number, int source, long[] words) {
        long offset = layout.block(block, number, source);
        for (int i = 0; i < words.length; i++) {
            words[i] = writtenBy(source).getLong(offset + 8L * i);
        }
    }

    /** Who a rank is and how it is reached, for messages. */
    public String label(int peer) {
        return plan.profiles().get(peer).label() + " over " + plan.backend(rank, peer);
    }

    /** Starts a failure with a rank, with what the plan knows of that rank; -1 for several ranks. */
    public EpFailure.Builder about(String phase, int peer) {
        return about(EpFailure.builder(phase, peer).build());
    }

    /** Adds what the plan knows of the peer. */
    EpFailure.Builder about(EpFailure failure) {
        return known.apply(failure).toBuilder();
    }
}
