package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpPath;
import org.ep4j.EpPeerLostException;
import org.ep4j.engine.layout.Announcement;
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
 * in {@link #through}, and {@link #advance} a counter when all is written. Only the thread that runs operations calls what
 * writes, and, on the host, {@link #seen}.
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
    /** Memory that peers which post write. */
    private volatile W window;
    /** Memory with the counters that each rank advances: {@link #local}, or what proxy threads or NICs write for peers that post. */
    private volatile List<W> counters = List.of();

    private volatile Runnable check = () -> {};
    private volatile Map<Integer, PostedWriter> postedTo = Map.of();
    private volatile Map<Integer, HostPosted> postedFrom = Map.of();
    private volatile DeviceMemory symmetric;
    private volatile Deadline deadline;

    /**
     * Creates the view of a symmetric memory.
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
        this.symmetric = symmetric.local();
        this.window = access.apply(symmetric.local());
        moveTo(symmetric);
    }

    /**
     * Continues in fresh memory, in which all counters are 0. The memory before is not accessed from here on. Ranks that are not
     * in the fresh memory have to be masked. No other thread uses this object meanwhile but to read results.
     */
    public void moveTo(SymmetricMemory fresh) {
        List<W> all = new ArrayList<>();
        W local = access.apply(fresh.local());
        W exchanged = fresh.window().map(w -> access.apply(w.memory())).orElse(local);
        List<W> words = new ArrayList<>();
        for (int r = 0; r < plan.ranks(); r++) {
            EpPath.Kind comes = plan.pathKind(r, rank);
            boolean posts = fresh.postedFrom().containsKey(r);
            words.add(fresh.window()
                    .filter(w -> posts)
                    .flatMap(w -> Optional.ofNullable(w.counters().get(comes)))
                    .map(access)
                    .orElse(local));
            DeviceMemory mapped = fresh.mapped().get(r);
            if (r == rank) {
                all.add(local);
            } else if (fresh.postedTo().containsKey(r)) {
                all.add(exchanged);
            } else {
                // A rank that is not a member has no bytes, so an access fails.
                all.add(access.apply(mapped == null ? fresh.local().slice(0, 0) : mapped));
            }
        }
        symmetric = fresh.local();
        window = exchanged;
        counters = List.copyOf(words);
        long staging = fresh.window().map(SymmetricMemory.Window::staging).orElse(layout.staging(0));
        long bytes = fresh.window().map(SymmetricMemory.Window::stagingBytes).orElse(layout.stagingBytes());
        Map<Integer, PostedWriter> writers = new TreeMap<>();
        fresh.postedTo().forEach((peer, posted) -> {
            posted.setWaitCheck(check);
            writers.put(peer, new PostedWriter(posted, peer, layout::isLowLatency, staging + peer * bytes, bytes));
        });
        postedTo = writers;
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

    /** Sets the deadline of the operation that begins. What an earlier operation has placed and not posted is dropped. */
    public void until(Deadline end) {
        deadline = end;
        postedTo.values().forEach(PostedWriter::drop);
    }

    /** Returns whether this rank writes {@code peer} by posting, and so cannot read its memory. */
    public boolean isPostedTo(int peer) {
        return postedTo.containsKey(peer);
    }

    /** Returns whether {@code peer} writes this rank by posting, and so cannot read this rank's memory. */
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

    /** The memory in which a {@link #place} is. */
    public W through(int peer) {
        return stored.get(peer);
    }

    /**
     * Returns where in {@link #through} to put what is to be at {@code offset} in the memory of {@code peer}. The caller writes
     * it there before the next call that concerns the peer.
     */
    public long place(int peer, long offset, long bytes) {
        PostedWriter posted = postedTo.get(peer);
        return posted == null ? offset : posted.place(offset, bytes, deadline);
    }

    /**
     * Writes bytes of this rank's symmetric memory to a peer that is posted to, without a copy: they stay as they are until
     * {@link #drain}.
     */
    public void write(int peer, long offset, long source, long bytes) {
        PostedWriter posted = postedTo.get(peer);
        if (posted == null) {
            throw new IllegalStateException("this rank has no posted path to " + label(peer));
        }
        posted.write(offset, source, bytes);
    }

    /**
     * Waits until the source of what was written to a peer by {@link #write} may change; returns at once for a peer that is lost
     * or mapped.
     */
    public void drain(int peer) {
        PostedWriter posted = postedTo.get(peer);
        if (posted != null) {
            try {
                posted.drain(deadline);
            } catch (EpPeerLostException e) {
                ignoreLost(e);
            }
        }
    }

    /**
     * Drops what is placed and not yet posted, and waits until all that was posted has arrived: nothing of an operation that
     * was broken off arrives later.
     *
     * @throws EpPeerLostException when the peer cannot be reached
     */
    public void settle(int peer) {
        PostedWriter posted = postedTo.get(peer);
        if (posted != null) {
            posted.settle(deadline);
        }
    }

    /** Waits until the deadline for what was posted to arrive, before this rank releases its memory. */
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

    /** Advances a counter at {@code peer}, the second half of a counted write: a thread that sees the value sees the bytes. */
    public void advance(int peer, Counter counter, long value) {
        PostedWriter posted = postedTo.get(peer);
        if (posted != null) {
            posted.advance(counter, value);
        } else {
            stored.get(peer).advance(layout.counter(counter, rank), value);
        }
    }

    /** As {@link #advance}, but ignores that the peer is lost: the next operation reports it. */
    public void tryAdvance(int peer, Counter counter, long value) {
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
     * Reads {@code source}'s counter on this rank.
     *
     * <p>The counter of a source that posts is the backend's, which throws once it has lost the source. So its value is kept in the
     * word of this rank's memory that the source would advance if it mapped it. Where kernels poll such words, in the memory of a
     * window, only the threads write them that make the bytes visible to the GPU before.
     *
     * @throws EpPeerLostException when the source posts and is lost
     */
    public long seen(Counter counter, int source) {
        HostPosted posted = postedFrom.get(source);
        W words = local();
        if (posted == null) {
            return words.getLongAcquire(layout.counter(counter, source));
        }
        long value = posted.counter(BufferLayout.number(counter), source);
        // Not 0: a counter that only GPUs use has no word here.
        if (value > 0 && counters.get(source) == words && value > lastSeen(counter, source)) {
            words.putLongRelease(layout.counter(counter, source), value);
        }
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

    /** Returns the newest value of a counter that is in memory, also if the source is lost. */
    public long lastSeen(Counter counter, int source) {
        return counters.get(source).getLongAcquire(layout.counter(counter, source));
    }

    /** Returns whether {@code source}'s counter has a value or a larger one, which stays true when the source is lost later. */
    public boolean reached(Counter counter, int source, long value) {
        return (isPostedFrom(source) && lastSeen(counter, source) >= value) || seen(counter, source) >= value;
    }

    /** As {@link #reached}, for a source that may be lost: a value that can never arrive has not. */
    boolean hasReached(Counter counter, int source, long value) {
        try {
            return reached(counter, source, value);
        } catch (EpPeerLostException e) {
            ignoreLost(e);
            return false;
        }
    }

    /**
     * Writes this rank's announcement at {@code peer}; the counter that goes with it is advanced afterwards.
     *
     * @param words at most {@link BufferLayout#ANNOUNCEMENT_WORDS}
     * @param ints at most R
     */
    public void writeAnnouncement(int peer, Announcement kind, long number, long[] words, int[] ints) {
        long bytes = BufferLayout.announcementInts() + 4L * ints.length;
        long offset = place(peer, layout.announcement(kind, number, rank), bytes);
        W memory = through(peer);
        for (int i = 0; i < words.length; i++) {
            memory.putLong(offset + 8L * i, words[i]);
        }
        for (int i = 0; i < ints.length; i++) {
            memory.putInt(offset + BufferLayout.announcementInts() + 4L * i, ints[i]);
        }
    }

    /**
     * Reads the words of {@code source}'s announcement.
     *
     * @param words filled with the first ones; no longer than {@link BufferLayout#ANNOUNCEMENT_WORDS}
     */
    public void readAnnouncement(Announcement kind, long number, int source, long[] words) {
        long offset = layout.announcement(kind, number, source);
        W memory = isPostedFrom(source) ? window : local();
        for (int i = 0; i < words.length; i++) {
            words[i] = memory.getLong(offset + 8L * i);
        }
    }

    /** Name of a rank with the backend that reaches it, for messages. */
    public String label(int peer) {
        return plan.profiles().get(peer).label() + " over " + plan.backend(rank, peer);
    }

    /** Starts a failure that concerns a rank, with its host and path; -1 for several ranks. */
    public EpFailure.Builder about(String phase, int peer) {
        return about(EpFailure.builder(phase, peer).build());
    }

    /** Adds host and path of the peer. */
    EpFailure.Builder about(EpFailure failure) {
        return known.apply(failure).toBuilder();
    }
}
