package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.ep4j.DeviceAllocation;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Rails;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.PathKind;
import org.ep4j.spi.DevicePosted;

/** What kernels of a rank know of how they reach their peers: {@code struct Remote} of {@code op.cu}, one for each rank. */
final class RemoteTable {
    /** Bytes of the struct where all peers are posted to by threads of the host. */
    private static final int HOST_BYTES = 72;

    /** Bytes of the struct where kernels post to all peers. */
    private static final int DEVICE_BYTES = 56;

    /** Bytes of the struct with {@code EP_MIXED}. */
    private static final int MIXED_BYTES = 136;

    private static final int TO_BY_DEVICE = 1;
    private static final int FROM_BY_DEVICE = 2;

    private final PostedPaths paths;
    private final int rank;
    private final SymmetricMemory symmetric;
    private final GpuWindows windows;
    private final WindowLayout layout;
    private final Optional<Remotes> remotes;
    private final Rails rails;
    private final long given;

    /** Indices of peers among those that this rank posts to, and is posted to by, for each way to post. */
    private final Map<PathKind, int[]> outgoing = new EnumMap<>(PathKind.class);

    private final Map<PathKind, int[]> incoming = new EnumMap<>(PathKind.class);

    /** By peer: the index of this rank among those that post to the peer, for each way to post. */
    private final Map<PathKind, int[]> there = new EnumMap<>(PathKind.class);

    private final int[] givers;

    /** By peer: the index of this rank among its givers. */
    private final int[] amongGivers;

    /**
     * Of one rank.
     *
     * @param layout of its windows
     * @param remotes rings by which threads of the host post for its kernels, where they do
     * @param given where peers put rows that map this rank's memory while it does not map theirs: an offset in symmetric memory
     */
    RemoteTable(
            PostedPaths paths,
            SymmetricMemory symmetric,
            GpuWindows windows,
            WindowLayout layout,
            Optional<Remotes> remotes,
            Rails rails,
            long given) {
        this.paths = paths;
        this.rank = symmetric.rank();
        this.symmetric = symmetric;
        this.windows = windows;
        this.layout = layout;
        this.remotes = remotes;
        this.rails = rails;
        this.given = given;
        for (PathKind kind : List.of(PathKind.HOST_POSTED, PathKind.DEVICE_POSTED)) {
            outgoing.put(kind, paths.indexes(paths.to(rank, kind)));
            incoming.put(kind, paths.indexes(paths.from(rank, kind)));
            there.put(kind, paths.placesAmongSources(rank, kind));
        }
        this.givers = paths.indexes(paths.givers(rank));
        this.amongGivers = paths.placesAmongGivers(rank);
    }

    /**
     * Writes the table to the GPU and gives its address.
     *
     * @param owned gets what frees it
     */
    long write(GpuDevice device, Copies copies, Deque<Runnable> owned) {
        int bytes = paths.mixed() ? MIXED_BYTES : windows.device().isPresent() ? DEVICE_BYTES : HOST_BYTES;
        ByteBuffer words = Copies.buffer(symmetric.ranks() * bytes);
        for (int r = 0; r < symmetric.ranks(); r++) {
            int end = words.position() + bytes;
            if (paths.mixed()) {
                putMixed(words, r);
            } else if (paths.isPosted(rank, r)) {
                words.putLong(out(r)).putLong(in(r));
                if (windows.device().isPresent()) {
                    putDevice(words, r);
                } else {
                    putHost(words, r);
                    putRails(words, r);
                }
            }
            words.position(end);
        }
        DeviceAllocation table = device.allocatePrivate((long) symmetric.ranks() * bytes);
        owned.push(table::close);
        copies.write(table.memory().address(), words);
        return table.memory().address();
    }

    private void putDevice(ByteBuffer words, int peer) {
        GpuWindow window = windows.device().orElseThrow();
        DevicePosted posted = window.posted().orElseThrow();
        // A rank that is lost has no number in fresh memory; nothing goes to it.
        boolean reached = symmetric.postedTo().containsKey(peer);
        words.putLong(window.address() + there(peer)).putLong(reached ? posted.number(peer) : 0);
        putRails(words, peer);
        words.putLong(reached ? posted.mapped(peer).orElse(0) : 0);
    }

    private void putHost(ByteBuffer words, int peer) {
        words.putLong(outgoing(peer)).putLong(there(peer));
        remotes.orElseThrow().putRing(words, peer);
    }

    private void putRails(ByteBuffer words, int peer) {
        words.putLong(rails.via(rank, peer, Mask.NONE)).putLong(rails.via(peer, rank, Mask.NONE));
    }

    private void putMixed(ByteBuffer words, int peer) {
        boolean to = paths.isPosted(rank, peer);
        boolean from = paths.isPosted(peer, rank);
        boolean toByDevice = paths.isByDevice(rank, peer);
        boolean fromByDevice = paths.isByDevice(peer, rank);
        words.putLong(to ? out(peer) : 0).putLong(from ? in(peer) : 0);
        if (toByDevice) {
            putDevice(words, peer);
        } else {
            words.putLong(0).putLong(0);
            putRails(words, peer);
            words.putLong(0);
        }
        if (to && !toByDevice) {
            putHost(words, peer);
        } else {
            words.position(words.position() + 2 * Long.BYTES + Remotes.RING_BYTES);
        }
        words.putLong((toByDevice ? TO_BY_DEVICE : 0) | (fromByDevice ? FROM_BY_DEVICE : 0));
        Optional<GpuWindow> heard = windows.of(paths, peer, rank);
        long local = symmetric.local().address();
        words.putLong(heard.map(GpuWindow::address).orElse(local))
                .putLong(heard.map(window -> window.counters().address()).orElse(local))
                .putLong(give(peer, to, from))
                .putLong(given(peer, to, from));
    }

    /** Where this rank puts rows of a peer's tokens that the peer cannot read. */
    private long give(int peer, boolean to, boolean from) {
        if (!from) {
            return 0;
        }
        // Of a peer that is lost, 0, too: nothing goes to it.
        return to
                ? out(peer)
                : Optional.ofNullable(symmetric.mapped().get(peer))
                        .map(memory -> memory.address() + place(amongGivers[peer]))
                        .orElse(0L);
    }

    /** Where a peer puts rows of this rank's tokens. */
    private long given(int peer, boolean to, boolean from) {
        if (!to) {
            return 0;
        }
        return from ? in(peer) : symmetric.local().address() + place(givers[peer]);
    }

    private long place(int giver) {
        return given + giver * layout.givenBytes();
    }

    private PathKind kind(int from, int to) {
        return paths.isByDevice(from, to) ? PathKind.DEVICE_POSTED : PathKind.HOST_POSTED;
    }

    private static int index(Map<PathKind, int[]> indices, PathKind kind, int peer) {
        return Objects.requireNonNull(indices.get(kind))[peer];
    }

    /** Offset of the channel to a peer. */
    private long outgoing(int peer) {
        return layout.outgoing(index(outgoing, kind(rank, peer), peer));
    }

    private long out(int peer) {
        return windows.of(paths, rank, peer).orElseThrow().address() + outgoing(peer);
    }

    private long in(int peer) {
        return windows.of(paths, peer, rank).orElseThrow().address()
                + layout.incoming(index(incoming, kind(peer, rank), peer));
    }

    /** Offset of this rank's channel in the peer's window. */
    private long there(int peer) {
        return layout.incoming(index(there, kind(rank, peer), peer));
    }
}
