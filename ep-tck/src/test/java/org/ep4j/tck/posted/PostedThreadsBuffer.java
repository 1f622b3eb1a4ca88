package org.ep4j.tck.posted;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;

/** One rank's memory with a link to every other rank, and a thread that delivers the posted writes. */
final class PostedThreadsBuffer implements SymmetricBuffer, HostPosted, MappedPeers {
    private final OpenContext context;
    /** Open buffers of this rank. */
    private final Set<PostedThreadsBuffer> open;

    private final Endpoint own;
    private final Map<Integer, Endpoint> all;
    private final Map<Integer, PostedThreadsLink> links = new TreeMap<>();
    private final AtomicLongArray shown;
    private final Semaphore work = new Semaphore(0);
    private final Random random;
    private volatile boolean closed;

    PostedThreadsBuffer(PostedThreadsBackend backend, String name, Endpoint own, Map<Integer, Endpoint> all) {
        this.context = backend.context();
        this.open = backend.open();
        this.own = own;
        this.all = Map.copyOf(all);
        this.shown = new AtomicLongArray(context.plan().ranks() * COUNTERS);
        long seed = PostedThreadsProvider.SEED.get(context.config()) * 1_000_003L + name.hashCode();
        this.random = new Random(seed + own.rank());
        all.forEach((rank, peer) -> {
            if (rank != own.rank()) {
                boolean next = rank == (own.rank() + 1) % context.plan().ranks();
                links.put(
                        rank,
                        new PostedThreadsLink(
                                own,
                                peer,
                                seed + 31L * own.rank() + rank,
                                PostedThreadsLink.Limits.of(context.config(), rank, next),
                                backend.cut(),
                                backend.refused()));
            }
        });
        Thread delivery = new Thread(this::deliver, "delivery-" + own.rank() + "-" + name);
        delivery.setDaemon(true);
        delivery.start();
    }

    private void deliver() {
        while (!closed) {
            work.acquireUninterruptibly();
            work.drainPermits();
            List<PostedThreadsLink> busy = busy();
            while (!closed && !busy.isEmpty()) {
                if (random.nextInt(6) == 0) {
                    LockSupport.parkNanos(random.nextInt(100_000));
                }
                cutTheDead();
                busy.get(random.nextInt(busy.size())).deliver();
                busy = busy();
            }
        }
    }

    private List<PostedThreadsLink> busy() {
        List<PostedThreadsLink> busy = new ArrayList<>(links.values());
        busy.removeIf(PostedThreadsLink::isIdle);
        return busy;
    }

    /** Cuts the links to and from processes that died. */
    private void cutTheDead() {
        links.forEach((rank, link) -> {
            if (isLost(rank) || isLost(own.rank())) {
                link.cut();
            }
        });
    }

    private boolean isLost(int rank) {
        return context.bootstrap().state(context.ranks().indexOf(rank)) == MemberState.LOST;
    }

    private PostedThreadsLink link(int peer) {
        if (closed) {
            throw new EpStateException("the buffer is closed");
        }
        PostedThreadsLink link = links.get(peer);
        if (link == null) {
            throw new IllegalArgumentException("no link to rank " + peer);
        }
        return link;
    }

    private PostedThreadsLink livingLink(int peer) {
        PostedThreadsLink link = link(peer);
        if (isLost(peer)) {
            link.cut();
        }
        return link;
    }

    @Override
    public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
        livingLink(peer).write(targetOffset, sourceOffset, bytes, false);
        work.release();
    }

    @Override
    public void putMessage(int peer, long targetOffset, long sourceOffset, long bytes) {
        livingLink(peer).write(targetOffset, sourceOffset, bytes, true);
        work.release();
    }

    @Override
    public void signal(int peer, int counter, long value) {
        if (counter < 0 || counter >= COUNTERS) {
            throw new IllegalArgumentException("no counter " + counter);
        }
        livingLink(peer).advance(counter, value);
        work.release();
    }

    @Override
    public long counter(int counter, int source) {
        PostedThreadsLink link = livingLink(source);
        // Read before the value, which may arrive just before the loss.
        Optional<EpPeerLostException> lost = link.lost();
        long value = own.seen(source, counter);
        long before = shown.getAndUpdate(source * COUNTERS + counter, last -> Math.max(last, value));
        // A new value is returned once; the next call throws the loss.
        if (value <= before && lost.isPresent()) {
            throw lost.get();
        }
        return value;
    }

    @Override
    public void flush(int peer, long deadlineNanos) {
        livingLink(peer).drain();
    }

    /** Delivers the writes of other buffers, too, as on a connection that buffers share. */
    @Override
    public boolean isIdle(int peer) {
        PostedThreadsLink mine = livingLink(peer);
        mine.lost().ifPresent(lost -> {
            throw lost;
        });
        for (PostedThreadsBuffer other : open) {
            PostedThreadsLink link = other.links.get(peer);
            if (other != this && link != null && !link.arrive()) {
                return false;
            }
        }
        mine.drain();
        return true;
    }

    @Override
    public DeviceMemory local() {
        return own.memory();
    }

    @Override
    public DeviceMemory peer(int rank) {
        Endpoint peer = all.get(rank);
        if (peer == null) {
            throw new IllegalArgumentException("no rank " + rank);
        }
        return peer.memory();
    }

    /** Drops the writes that have not arrived. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            open.remove(this);
            links.values().forEach(PostedThreadsLink::end);
            own.close();
            all.values().forEach(Endpoint::release);
            work.release();
        }
    }
}
