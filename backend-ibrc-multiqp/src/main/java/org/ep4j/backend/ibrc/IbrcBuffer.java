package org.ep4j.backend.ibrc;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.PostedArguments;
import org.jspecify.annotations.Nullable;

/** One symmetric buffer on one rank, written to by the queue pairs of the backend. */
final class IbrcBuffer implements SymmetricBuffer, HostPosted {
    private final String name;
    private final int rank;
    private final int self;
    private final DeviceMemory memory;
    private final Exposure.Exposed exposed;
    private final Map<Integer, Link> links;
    /** By rank; nothing where none is connected. */
    private final @Nullable Link[] linkOf;

    private final LinkPoller.Budget polls;
    private final boolean atomics;
    private final ClosedCounters closed;
    private final Consumer<IbrcBuffer> onClose;
    private final AtomicBoolean open = new AtomicBoolean(true);
    private volatile Runnable check = Link.NO_CHECK;
    private final long[][] sent;
    /** By rank. */
    private final @Nullable Arrivals[] arrivals;

    /**
     * A buffer that all ranks have registered.
     *
     * @param links by rank of the peer
     * @param polls shared by all buffers of the backend
     * @param atomics false when this rank counts immediates, for which it has to poll
     * @param self index of this rank
     * @param closed gets the counters while peers may still write to them
     */
    IbrcBuffer(
            String name,
            int rank,
            int self,
            DeviceMemory memory,
            Exposure.Exposed exposed,
            Map<Integer, Link> links,
            LinkPoller.Budget polls,
            boolean atomics,
            ClosedCounters closed,
            Consumer<IbrcBuffer> onClose) {
        this.name = name;
        this.rank = rank;
        this.memory = memory;
        this.exposed = exposed;
        this.links = Map.copyOf(links);
        this.polls = polls;
        this.atomics = atomics;
        this.closed = closed;
        this.self = self;
        this.onClose = onClose;
        int ranks = exposed.numbers().size();
        this.sent = new long[ranks][COUNTERS];
        int room = links.keySet().stream().mapToInt(peer -> peer + 1).max().orElse(0);
        this.linkOf = new Link[room];
        this.arrivals = new Arrivals[room];
        links.forEach((peer, link) -> {
            linkOf[peer] = link;
            arrivals[peer] = Arrivals.of(exposed.counted(), link, atomics);
        });
    }

    @Override
    public DeviceMemory local() {
        checkOpen();
        return memory;
    }

    @Override
    public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
        put(peer, targetOffset, sourceOffset, bytes, false);
    }

    @Override
    public void putMessage(int peer, long targetOffset, long sourceOffset, long bytes) {
        put(peer, targetOffset, sourceOffset, bytes, true);
    }

    private void put(int peer, long target, long source, long bytes, boolean message) {
        Link link = link(peer);
        PostedArguments.checkRange("target", target, bytes, memory.byteSize(), this);
        PostedArguments.checkRange("source", source, bytes, memory.byteSize(), this);
        if (bytes > 0 && !hasClosed(link)) {
            link.write(exposed.data(), target, source, bytes, message, check);
        }
    }

    @Override
    public void signal(int peer, int counter, long value) {
        Link link = link(peer);
        PostedArguments.checkCounter(counter);
        if (!hasClosed(link)) {
            int index = link.peer().index();
            link.advance(exposed.counters(), exposed.numbers().get(index), counter, sent[index], value, check);
        }
    }

    @Override
    public long counter(int counter, int source) {
        Link link = link(source);
        PostedArguments.checkCounter(counter);
        Arrivals from = Objects.requireNonNull(arrivals[source]);
        if (!atomics && !from.showNew(counter)) {
            link.tryProgress(polls.of(link));
        }
        return from.seen(counter);
    }

    @Override
    public void flush(int peer, long deadlineNanos) {
        link(peer).drain(Deadline.at(deadlineNanos), check);
    }

    @Override
    public void setWaitCheck(Runnable next) {
        check = next;
    }

    /**
     * True if a peer has closed this buffer: nobody reads what is written there, and a write to memory that is not registered any more breaks
     * the link for all buffers.
     */
    private boolean hasClosed(Link link) {
        return exposed.handshake().hasClosed(link);
    }

    private Link link(int peer) {
        checkOpen();
        Link link = peer >= 0 && peer < linkOf.length ? linkOf[peer] : null;
        return link != null ? link : PostedArguments.link(links, peer, rank, IbrcProvider.ID);
    }

    private void checkOpen() {
        if (!open.get()) {
            throw new EpStateException(this + " is closed; do not use a buffer after close()");
        }
    }

    @Override
    public boolean isIdle(int peer) {
        return link(peer).isIdle();
    }

    /**
     * As {@link SymmetricBuffer#close}; first gives NICs and peers a short time to be done with what is in flight. A connection on which
     * nothing arrives for so long ends: it would read this memory when it works again.
     */
    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            Deadline end = Deadline.in(IbrcBackend.LINGER);
            exposed.handshake()
                    .notifyPeers(
                            links.values(),
                            exposed.counters(),
                            self,
                            end,
                            "no write to it completes, and this rank has closed " + this + " with writes in flight");
            boolean apart = exposed.handshake().awaitPeers(links.values());
            exposed.registered().close();
            if (apart) {
                exposed.words().close();
            } else {
                closed.keep(exposed.handshake(), links.values(), exposed.words());
            }
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return IbrcProvider.ID + " buffer \"" + name + "\" of rank " + rank;
    }
}
