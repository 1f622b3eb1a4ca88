package org.ep4j.tck.posted;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.EpPeerLostException;

/**
 * What one rank posted to another and has not arrived. It arrives late, in pieces, in any order: of the writes before a
 * counter, and also of those after it, which may come sooner than the counter; but no counter comes before a write that was
 * posted before it, or before an earlier counter. A source is read as late as can be: when its piece arrives.
 */
final class Link {
    private static final int MOST = 48;

    /** Bytes of all writes so far, over all links. */
    private static final AtomicLong WRITTEN = new AtomicLong();

    private sealed interface Posted permits Write, Advance {}

    private record Write(long target, long source, long bytes) implements Posted {}

    private record Advance(int counter, long value) implements Posted {}

    private final Endpoint own;
    private final Endpoint peer;
    private final Random random;
    private final List<Posted> pending = new ArrayList<>();
    private final int cut;
    private int writes;
    private boolean broken;

    /**
     * A link.
     *
     * @param cut writes after which it breaks; 0 means never
     */
    Link(Endpoint own, Endpoint peer, long seed, int cut) {
        this.cut = cut;
        this.own = own;
        this.peer = peer;
        this.random = new Random(seed);
    }

    static long written() {
        return WRITTEN.get();
    }

    synchronized void write(long target, long source, long bytes) {
        check(own, source, bytes, "source");
        check(peer, target, bytes, "target");
        writes++;
        broken |= writes == cut;
        checkReachable();
        WRITTEN.addAndGet(bytes);
        pending.add(new Write(target, source, bytes));
        while (pending.size() > MOST) {
            deliver();
        }
    }

    private static void check(Endpoint endpoint, long offset, long bytes, String what) {
        if (offset < 0 || bytes < 0 || offset + bytes > endpoint.memory().byteSize()) {
            throw new IllegalArgumentException(what + " " + offset + " + " + bytes + " is outside of "
                    + endpoint.memory().byteSize() + " bytes");
        }
    }

    synchronized void advance(int counter, long value) {
        checkReachable();
        pending.add(new Advance(counter, value));
    }

    synchronized void drain() {
        while (!pending.isEmpty() && !peer.refuses(own.rank())) {
            deliver();
        }
        if (!pending.isEmpty()) {
            pending.clear();
            broken = true;
        }
        checkReachable();
    }

    /** What is thrown where nothing passes any more. */
    synchronized Optional<EpPeerLostException> lost() {
        try {
            checkReachable();
            return Optional.empty();
        } catch (EpPeerLostException e) {
            return Optional.of(e);
        }
    }

    private void checkReachable() {
        broken |= peer.refuses(own.rank());
        if (broken) {
            pending.clear();
            throw new EpPeerLostException(
                    "rank " + peer.rank() + " cannot be reached by test0:1 of rank " + own.rank()
                            + " (status 12, RETRY_EXC_ERR, vendor error 129)",
                    peer.rank(),
                    "post");
        }
    }

    /** The peer died, or this rank did. */
    synchronized void cut() {
        broken = true;
        pending.clear();
    }

    synchronized boolean isIdle() {
        return pending.isEmpty();
    }

    /** Lets one piece or counter arrive. */
    synchronized void deliver() {
        List<Integer> writes = new ArrayList<>();
        int firstCounter = -1;
        for (int i = 0; i < pending.size(); i++) {
            if (pending.get(i) instanceof Write) {
                writes.add(i);
            } else if (firstCounter < 0) {
                firstCounter = i;
            }
        }
        boolean counterMay = firstCounter == 0;
        if (counterMay && (writes.isEmpty() || random.nextInt(4) > 0)) {
            Advance advance = (Advance) pending.remove(0);
            peer.count(own.rank(), advance.counter(), advance.value());
        } else if (!writes.isEmpty()) {
            deliverPiece(writes.get(random.nextInt(writes.size())));
        }
    }

    private void deliverPiece(int index) {
        Write whole = (Write) pending.get(index);
        long first =
                whole.bytes() > 1 && random.nextInt(3) == 0 ? 1 + random.nextLong(whole.bytes() - 1) : whole.bytes();
        boolean tail = random.nextBoolean();
        long rest = whole.bytes() - first;
        long skipped = tail ? rest : 0;
        peer.receive(whole.target() + skipped, own, whole.source() + skipped, first);
        if (rest == 0) {
            pending.remove(index);
        } else {
            long at = tail ? 0 : first;
            pending.set(index, new Write(whole.target() + at, whole.source() + at, rest));
        }
    }
}
