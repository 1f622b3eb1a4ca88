package org.ep4j.engine.sync;

import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Function;
import java.util.stream.Stream;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.FailedPath;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.memory.Words;
import org.ep4j.plan.EpPlan;
import org.ep4j.spi.HostPosted;
import org.jspecify.annotations.Nullable;

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

    /** A rank that lives takes a word at once, also while its process is stopped. */
    private static final Duration EXPEL = Duration.ofMillis(20);

    private final int rank;
    private final EpPlan plan;
    private final BufferLayout layout;
    private final Function<DeviceMemory, W> access;
    private final Set<Integer> disconnected = new HashSet<>();
    private volatile Reach<W> reach;
    private volatile Optional<Reach<W>> older = Optional.empty();
    private volatile Deadline deadline;

    /**
     * Over symmetric memory.
     *
     * @param access to memory that this rank stores into
     * @param deadline of what is done before {@link #until} is called
     */
    public Peers(
            EpPlan plan,
            BufferLayout layout,
            SymmetricMemory symmetric,
            Function<DeviceMemory, W> access,
            Deadline deadline) {
        this.plan = plan;
        this.rank = symmetric.rank();
        this.layout = layout;
        this.deadline = deadline;
        this.access = access;
        this.reach = new Reach<>(symmetric, layout, access);
    }

    /**
     * Goes on in other memory, whose counters all begin at 0.
     *
     * @param fresh has no memory of ranks that are lost
     */
    public void move(SymmetricMemory fresh) {
        older = Optional.of(reach);
        reach = new Reach<>(fresh, layout, access);
    }

    /** True after a {@link #move} until {@link #forgetOlder} or {@link #moveBack}. */
    public boolean hasMoved() {
        return older.isPresent();
    }

    /** Never moves back: all ranks are known to have moved. */
    public void forgetOlder() {
        older = Optional.empty();
    }

    /** Goes on where this rank was before it moved, since another one could not. */
    public void moveBack() {
        reach = older.orElseThrow();
        older = Optional.empty();
    }

    /** As {@link #seen}, in the memory that this rank has moved from; 0 where it has not. */
    public long seenBeforeMove(Counter counter, int source) {
        Reach<W> old = older.orElse(null);
        if (old == null) {
            return 0;
        }
        HostPosted posted = old.postedFrom.get(source);
        return posted == null
                ? old.local.getLongAcquire(layout.counter(counter, source))
                : posted.seen(BufferLayout.number(counter), source);
    }

    /** This rank's symmetric memory. */
    public DeviceMemory symmetric() {
        return reach.symmetric.local();
    }

    /**
     * A window as this rank reaches it.
     *
     * @param memory blocks at the same places as in symmetric memory
     * @param counters likewise
     */
    private record Windowed<W>(W memory, W counters) {}

    /** One generation of symmetric memory, as this rank reaches it. */
    private static final class Reach<W extends Words> {
        private final SymmetricMemory symmetric;
        private final W local;
        /** By rank; of ranks that are posted to, the window; null for ranks that are lost. */
        private final List<@Nullable W> stored;
        /** Memory beside the local one that peers which post write, and its counters, as the backend or a proxy thread shows them. */
        private final Map<SymmetricMemory.Window, Windowed<W>> windows = new HashMap<>();

        private final Map<Integer, PostedPeer> postedTo = new TreeMap<>();
        private final Map<Integer, HostPosted> postedFrom;
        /** By counter and rank: what was seen of ranks that post. */
        private final AtomicLongArray heard;

        Reach(SymmetricMemory symmetric, BufferLayout layout, Function<DeviceMemory, W> access) {
            this.symmetric = symmetric;
            local = access.apply(symmetric.local());
            Stream.concat(symmetric.windowTo().values().stream(), symmetric.windowFrom().values().stream())
                    .distinct()
                    .forEach(w -> windows.put(w, new Windowed<>(access.apply(w.memory()), access.apply(w.counters()))));
            List<@Nullable W> all = new ArrayList<>();
            for (int r = 0; r < symmetric.ranks(); r++) {
                DeviceMemory mapped = symmetric.mapped().get(r);
                if (r == symmetric.rank()) {
                    all.add(local);
                } else if (mapped != null) {
                    all.add(access.apply(mapped));
                } else {
                    all.add(
                            symmetric.postedTo().containsKey(r)
                                    ? windowed(symmetric.windowTo(), r).memory()
                                    : null);
                }
            }
            stored = Collections.unmodifiableList(all);
            heard = new AtomicLongArray(Counter.values().length * all.size());
            symmetric.postedTo().forEach((peer, posted) -> {
                Optional<SymmetricMemory.Window> window =
                        Optional.ofNullable(symmetric.windowTo().get(peer));
                long staging = window.map(SymmetricMemory.Window::staging).orElse(layout.staging(0));
                long stagingBytes =
                        window.map(SymmetricMemory.Window::stagingBytes).orElse(layout.stagingBytes());
                postedTo.put(peer, new PostedPeer(posted, peer, staging + peer * stagingBytes, stagingBytes));
            });
            postedFrom = symmetric.postedFrom();
        }

        /** The memory of a peer's window, or the local one. */
        private Windowed<W> windowed(Map<Integer, SymmetricMemory.Window> byPeer, int peer) {
            SymmetricMemory.Window window = byPeer.get(peer);
            Windowed<W> found = window == null ? null : windows.get(window);
            return found == null ? new Windowed<>(local, local) : found;
        }

        Windowed<W> from(int source) {
            return windowed(symmetric.windowFrom(), source);
        }
    }

    /** This rank. */
    public int rank() {
        return rank;
    }

    /** R. */
    public int ranks() {
        return reach.stored.size();
    }

    /** Where everything lies. */
    public BufferLayout layout() {
        return layout;
    }

    /** Until when the calls of the operation that begins may wait. What an operation before it left unposted is dropped. */
    public void until(Deadline end) {
        deadline = end;
        reach.postedTo.values().forEach(PostedPeer::drop);
    }

    /** True when this rank writes {@code peer} by posting, and so cannot read its memory. */
    public boolean isPostedTo(int peer) {
        return reach.postedTo.containsKey(peer);
    }

    /** True when {@code peer} writes this rank by posting, and so cannot read this rank's memory. */
    public boolean isPostedFrom(int peer) {
        return reach.postedFrom.containsKey(peer);
    }

    /** The memory of {@code peer}, which is mapped. */
    public W memory(int peer) {
        if (isPostedTo(peer)) {
            throw new IllegalStateException("the memory of " + label(peer) + " is not mapped");
        }
        return stored(peer);
    }

    private W stored(int peer) {
        W memory = reach.stored.get(peer);
        if (memory == null) {
            throw new IllegalStateException(
                    "the memory of " + label(peer) + ", which is lost, is not reached any more");
        }
        return memory;
    }

    /** The memory of all peers that are mapped and not lost. */
    public List<W> mapped() {
        List<W> mapped = new ArrayList<>();
        for (int r = 0; r < ranks(); r++) {
            W memory = reach.stored.get(r);
            if (r != rank && memory != null && !isPostedTo(r)) {
                mapped.add(memory);
            }
        }
        return mapped;
    }

    /** This rank's own memory. */
    public W local() {
        return reach.local;
    }

    /** The memory of this rank in which blocks of {@code source} are. */
    public W writtenBy(int source) {
        return isPostedFrom(source) ? reach.from(source).memory() : local();
    }

    /** The memory in which a {@link #place} is. */
    public W through(int peer) {
        return stored(peer);
    }

    /**
     * Where in {@link #through} to put what is to be at {@code offset} in the memory of {@code peer}. It is written before
     * the next call that concerns the peer.
     */
    public long place(int peer, long offset, long bytes) {
        PostedPeer posted = reach.postedTo.get(peer);
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
        PostedPeer posted = reach.postedTo.get(peer);
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
        PostedPeer posted = reach.postedTo.get(peer);
        if (posted != null) {
            posted.settle(deadline);
        }
    }

    /** Lets what was posted arrive, as far as it can until the deadline, before this rank gives its memory back. */
    public void finish(Mask mask) {
        reach.postedTo.forEach((peer, posted) -> {
            if (!mask.has(peer)) {
                try {
                    posted.settle(deadline);
                } catch (EpException e) {
                    LOG.log(System.Logger.Level.DEBUG, "a rank does not get what was posted to it", e);
                }
            }
        });
    }

    /**
     * Nothing that {@code peer} posts arrives from here on, see {@link HostPosted#disconnect}. Nothing to do for one that
     * stores.
     */
    public void disconnect(int peer) {
        HostPosted posted = reach.postedFrom.get(peer);
        if (posted != null && disconnected.add(peer)) {
            posted.disconnect(peer);
        }
    }

    /** True when {@code peer} can load and store the memory that this rank uses. */
    public boolean maps(int peer) {
        return peer != rank && !isPostedFrom(peer) && reach.stored.get(peer) != null;
    }

    /** True when nothing keeps {@code peer} from writing the memory that this rank uses: it maps it, or cannot be cut off. */
    public boolean mayReach(int peer) {
        HostPosted posted = reach.postedFrom.get(peer);
        return maps(peer) || (posted != null && !posted.canDisconnect());
    }

    /**
     * Lets a rank know that the others go on without it, before they use memory again that it may still read or write: it
     * finds its membership word set before it returns a result of what it read. Best effort for a rank that is posted to, whose
     * memory nobody else uses.
     */
    public void expel(int peer) {
        if (isPostedTo(peer)) {
            try {
                Deadline soon = Deadline.in(EXPEL);
                PostedPeer posted = posted(peer);
                through(peer).putLong(posted.place(layout.membership(), Long.BYTES, soon), 1);
                posted.flush();
                posted.drain(soon);
            } catch (EpException e) {
                LOG.log(System.Logger.Level.DEBUG, "a rank is not reached to say that it is out", e);
            }
        } else if (reach.stored.get(peer) != null) {
            stored(peer).putLongRelease(layout.membership(), 1);
        }
    }

    /**
     * True once another rank has {@linkplain #expel said} that the group goes on without this one. When it is called after the
     * last read of memory of others, false means that nothing of what was read had been used again.
     */
    public boolean isExpelled() {
        Reach<W> now = reach;
        VarHandle.acquireFence();
        return now.local.getLongAcquire(layout.membership()) != 0
                || now.windows.values().stream()
                        .anyMatch(window -> window.memory().getLongAcquire(layout.membership()) != 0);
    }

    private PostedPeer posted(int peer) {
        PostedPeer posted = reach.postedTo.get(peer);
        if (posted == null) {
            throw new IllegalStateException("nothing is posted to " + label(peer));
        }
        return posted;
    }

    /** Second half of a counted write: what was written to {@code peer} before is seen by whoever sees the counter. */
    public void advance(int peer, Counter counter, long value) {
        PostedPeer posted = reach.postedTo.get(peer);
        if (posted != null) {
            posted.advance(counter, value);
        } else {
            stored(peer).putLongRelease(layout.counter(counter, rank), value);
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

    private static void ignoreLost(EpPeerLostException e) {
        LOG.log(System.Logger.Level.DEBUG, "nothing more can be told to a rank, or heard of it", e);
    }

    /**
     * Value of {@code source}'s counter in this rank's memory.
     *
     * @throws EpPeerLostException when the source posts and cannot be heard any more
     */
    public long seen(Counter counter, int source) {
        HostPosted posted = reach.postedFrom.get(source);
        if (posted == null) {
            return local().getLongAcquire(layout.counter(counter, source));
        }
        int number = BufferLayout.number(counter);
        long value = posted.seen(number, source);
        reach.heard.accumulateAndGet(number * ranks() + source, value, Math::max);
        return value;
    }

    /** The newest value of a counter that was {@link #seen}; also of a source that is lost. */
    public long heard(Counter counter, int source) {
        if (!isPostedFrom(source)) {
            return local().getLongAcquire(layout.counter(counter, source));
        }
        long seen = reach.heard.get(BufferLayout.number(counter) * ranks() + source);
        // Whoever else looks at arrivals keeps them there.
        Windowed<W> window = reach.from(source);
        return window.memory() == local()
                ? seen
                : Math.max(seen, window.counters().getLongAcquire(layout.counter(counter, source)));
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

    /** Reads the head of {@code source}'s block. */
    public long[] readBlock(Block block, long number, int source) {
        long offset = layout.block(block, number, source);
        long[] words = new long[BufferLayout.BLOCK_WORDS];
        for (int i = 0; i < words.length; i++) {
            words[i] = writtenBy(source).getLong(offset + 8L * i);
        }
        return words;
    }

    /** Reads the ints of {@code source}'s block, one for each rank. */
    public int[] readInts(Block block, long number, int source) {
        long offset = layout.block(block, number, source) + BufferLayout.blockInts();
        int[] ints = new int[ranks()];
        for (int i = 0; i < ints.length; i++) {
            ints[i] = writtenBy(source).getInt(offset + 4L * i);
        }
        return ints;
    }

    /** How a rank is reached, for exceptions. */
    public FailedPath pathTo(int peer) {
        return peer < 0 || peer >= ranks() ? FailedPath.UNKNOWN : FailedPath.of(plan.path(rank, peer));
    }

    /** Who a rank is and how it is reached, for messages. */
    public String label(int peer) {
        return plan.profiles().get(peer).label() + " over "
                + plan.path(rank, peer).backend();
    }
}
