package org.ep4j.backend.efa;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpTraffic;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.Pause;
import org.jspecify.annotations.Nullable;

/**
 * Everything between this rank and one peer: counted writes over one or more pairs of NICs (rails), in both directions. Safe
 * for use from several threads, which wait for each other.
 *
 * <p>Nothing is taken to arrive in the order in which it was posted. What is written goes in batches, see {@link Records};
 * every write carries the number of its batch, and the peer counts, see {@link Arrivals}. At most {@link Records#COUNT}
 * batches are under way, and at most {@link #CREDIT} immediates that the peer has not taken out of its queue, which would run
 * over otherwise while nobody looks at it: the peer tells of both.
 */
final class Link {
    /** Larger writes go in pieces, so that all rails take part. */
    static final int PIECE = 1 << 20;

    /** Immediates that the peer may not have taken yet. */
    static final int CREDIT = 1024;

    /** The peer is told when a quarter of its batches is done with, or of its immediates is taken. */
    private static final int TELL = Records.COUNT / 4;

    private static final int TELL_TAKEN = CREDIT / 4;

    /** What an idle network needs for a small write. */
    private static final long MOMENT_NANOS = 100_000;

    /** Polls for a last immediate to leave before a connection closes; it is not waited for. */
    private static final int LAST_POLLS = 64;

    /** For calls that only their deadline ends. */
    static final Runnable NO_CHECK = () -> {};

    /** Polls for what a peer that is gone has left behind. */
    private static final int LAST_TAKES = 10_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final LinkPeer peer;
    private final Wire wire;
    private final Rail[] rails;
    private final Records records;
    private final Arrivals arrivals;
    private final Duration timeout;
    private final Completions completions = new Completions(64);
    private final Queue<Runnable> news = new ConcurrentLinkedQueue<>();
    private int next;
    private long batch;
    private int writes;
    private long done;
    private long told;
    private long posted;
    private long accepted;
    private long taken;
    private long takenTold;
    private long looks;
    private long looksAttended;
    private boolean cutByPeer;
    private boolean late;
    /** Of the call that has the lock. */
    private Runnable check = NO_CHECK;

    private volatile LinkPeer.@Nullable Loss lost;

    /**
     * A link whose endpoints know each other.
     *
     * @param peer who is at the other end
     * @param sink of what comes from there
     * @param timeout longest wait of a call that has no deadline of its own
     */
    Link(LinkPeer peer, Wire wire, List<Rail> rails, Records records, Arrivals.Sink sink, Duration timeout) {
        this.peer = peer;
        this.wire = wire;
        this.rails = rails.toArray(new Rail[0]);
        this.records = records;
        this.arrivals = new Arrivals(records, sink);
        this.timeout = timeout;
        rails.forEach(rail -> rail.nic().add(this::progressForOthers));
        // Neighbours begin on different rails.
        this.next = peer.index() % this.rails.length;
    }

    /**
     * Posts a write. The ranges have been checked.
     *
     * @param message whether it is of low latency, see {@link org.ep4j.spi.HostPosted#putMessage}
     * @param ending what ends a wait for room, see {@link org.ep4j.spi.HostPosted#setWaitCheck}
     */
    void write(Region local, Region remote, long target, long source, long bytes, boolean message, Runnable ending) {
        lock.lock();
        try {
            check = ending;
            checkAlive();
            long deadline = Deadline.in(timeout).nanoTime();
            awaitBatch(deadline);
            int immediate = Immediate.of(Immediate.DATA, Records.place(batch));
            long at = 0;
            while (at < bytes) {
                at += post(local, remote, target + at, source + at, bytes - at, message, immediate, deadline);
                writes++;
            }
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /** Posts one piece; returns its length. */
    private int post(
            Region local,
            Region remote,
            long target,
            long source,
            long bytes,
            boolean message,
            int immediate,
            long deadline) {
        for (int tries = 0; ; tries++) {
            Rail rail = rails[next];
            next = (next + 1) % rails.length;
            Keys to = remote.keys().get(rail.peerPlace());
            Keys from = local.keys().get(rail.place());
            long most = Math.min(PIECE, rail.longest());
            long piece = Math.min(Math.min(bytes, most), to.left(target));
            int length = (int) Math.min(piece, from.left(source));
            int slot = hasCredit() ? rail.take(length, message) : -1;
            if (slot >= 0) {
                long remoteAddress = to.target(remote.address(), target);
                int result = wire.write(
                        rail.index(),
                        remoteAddress,
                        to.at(target),
                        local.address() + source,
                        from.at(source),
                        length,
                        slot,
                        immediate);
                if (result == 0) {
                    posted++;
                    rail.wrote(length);
                    return length;
                }
                refused(rail, slot, result);
            }
            if (tries % rails.length == rails.length - 1) {
                pause(deadline, "room for a write", tries / rails.length);
            }
        }
    }

    private void refused(Rail rail, int slot, int result) {
        rail.give(slot);
        if (result != -FabricError.EAGAIN) {
            lose(rail, rail.name() + " took no write: ", -result, "");
            throw lostNow();
        }
    }

    private boolean hasCredit() {
        return posted - accepted < CREDIT;
    }

    private void awaitBatch(long deadline) {
        if (batch - done >= Records.COUNT) {
            await(deadline, "the peer to accept earlier counter updates", () -> batch - done < Records.COUNT);
        }
    }

    /**
     * Advances a counter after everything that was written before.
     *
     * @param buffer the peer's number of the buffer
     * @param sent values so far, by counter; gets the new one
     * @param ending as in {@link #write}
     */
    void advance(int buffer, int counter, long[] sent, long value, Runnable ending) {
        lock.lock();
        try {
            check = ending;
            checkAlive();
            if (value < sent[counter]) {
                throw new IllegalArgumentException("counter " + counter + " for " + peer.label() + " is at "
                        + sent[counter] + " and cannot go back to " + value);
            }
            if (value > sent[counter]) {
                end(
                        Records.ADVANCE,
                        buffer,
                        counter,
                        value,
                        Deadline.in(timeout).nanoTime());
                sent[counter] = value;
            }
            progress();
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /** Tells the peer, after everything that was written before, that nothing more is written to one of its buffers. */
    void farewell(int buffer, Deadline deadline) {
        lock.lock();
        try {
            checkAlive();
            end(Records.CLOSE, buffer, 0, 0, deadline.nanoTime());
        } finally {
            lock.unlock();
        }
    }

    /** Ends the batch with its record, which is posted from its place in memory: nobody writes there before the peer is done. */
    private void end(int kind, int buffer, int counter, long value, long deadline) {
        awaitBatch(deadline);
        int place = Records.place(batch);
        records.put(batch, writes, kind, buffer, counter, value);
        for (int tries = 0; ; tries++) {
            Rail rail = rails[next];
            next = (next + 1) % rails.length;
            int slot = hasCredit() ? rail.takeForRecord() : -1;
            if (slot >= 0) {
                int result = records.post(wire, rail.index(), slot, place);
                if (result == 0) {
                    posted++;
                    rail.wroteRecord();
                    batch++;
                    writes = 0;
                    return;
                }
                refused(rail, slot, result);
            }
            if (tries % rails.length == rails.length - 1) {
                pause(deadline, "room for a counter", tries / rails.length);
            }
        }
    }

    /** Posts an immediate alone. False where there is no room. */
    private boolean tell(int immediate) {
        for (Rail rail : rails) {
            int slot = rail.takeBare();
            if (slot >= 0) {
                int result = records.postBare(wire, rail.index(), slot, immediate);
                if (result == 0) {
                    return true;
                }
                refused(rail, slot, result);
            }
        }
        return false;
    }

    /**
     * Waits until the sources of what was posted may be written again, and all that was ended by an advance has arrived; and for other
     * threads that use the link.
     *
     * @param ending as in {@link #write}
     */
    void drain(Deadline deadline, Runnable ending) {
        if (!deadline.tryLock(lock)) {
            throw new EpTimeoutException(
                    "the connection to " + peer.label()
                            + " stayed busy until the deadline: another thread holds it and waits for posted writes",
                    peer.failure().toBuilder().phase("the end of all writes").build());
        }
        try {
            check = ending;
            checkAlive();
            await(deadline.nanoTime(), "the end of all writes", () -> pending() == 0);
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /**
     * Whether nothing is in flight, and some writes and an advance would not wait. Lets what other threads have posted arrive for a moment,
     * in which they post nothing more.
     */
    boolean isIdle() {
        checkAlive();
        if (!lock.tryLock()) {
            return false;
        }
        try {
            checkAlive();
            long end = System.nanoTime() + MOMENT_NANOS;
            do {
                progress();
                checkAlive();
            } while (pending() > 0 && System.nanoTime() - end < 0);
            return pending() == 0 && batch - done <= Records.COUNT / 2 && posted - accepted <= CREDIT / 2;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets all data arrive that was posted, by other threads too, then posts something and lets it arrive. Other threads post nothing
     * meanwhile.
     *
     * @param quiet ends this if nothing has arrived for so long, or another thread has used the link
     * @return whether all has arrived
     */
    boolean drainThen(Duration quiet, Runnable post) {
        if (!Deadline.in(quiet).tryLock(lock)) {
            return false;
        }
        try {
            checkAlive();
            if (!drainWhileMoving(quiet, this::data)) {
                return false;
            }
            post.run();
            return drainWhileMoving(quiet, this::pending);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets all data arrive that was posted, then posts something. Ends the link if nothing arrives for some time: nothing reads the source
     * of a write any more.
     */
    void drainOrEnd(Duration quiet, Runnable post, String why) {
        hold(() -> {
            takeNews();
            if (lost == null && !drainWhileMoving(quiet, this::data)) {
                cut();
                lose(why);
            } else if (lost == null) {
                post.run();
            }
        });
    }

    private boolean drainWhileMoving(Duration quiet, IntSupplier inFlight) {
        int before = Integer.MAX_VALUE;
        long end = 0;
        boolean moved = false;
        int late = 0;
        for (int tries = 0; inFlight.getAsInt() > 0; tries++) {
            if (inFlight.getAsInt() < before) {
                before = inFlight.getAsInt();
                end = Deadline.in(quiet).nanoTime();
                late = 0;
            } else if (late > 0 && (!moved || late > LAST_POLLS)) {
                return false;
            } else if (late > 0 || end - System.nanoTime() <= 0) {
                // A thread that got no processor meanwhile looks on, as long as something lies there.
                late++;
            }
            moved = progress();
            checkAlive();
            if (!moved) {
                Pause.after(tries);
            }
        }
        return true;
    }

    /** Finds out whether the peer can be reached on all rails, which also connects them. */
    void greet(Deadline deadline) {
        lock.lock();
        try {
            checkAlive();
            for (Rail rail : rails) {
                int immediate = Immediate.done(0, 0);
                for (int tries = 0; ; tries++) {
                    int slot = rail.takeBare();
                    int result = slot < 0 ? 0 : records.postBare(wire, rail.index(), slot, immediate);
                    if (slot >= 0 && result == 0) {
                        break;
                    }
                    if (slot >= 0) {
                        refused(rail, slot, result);
                    }
                    pause(deadline.nanoTime(), "a connection from " + rail.name(), tries);
                }
            }
            await(deadline.nanoTime(), "an answer", () -> pending() == 0);
        } finally {
            lock.unlock();
        }
    }

    private int data() {
        int data = 0;
        for (Rail rail : rails) {
            data += rail.data();
        }
        return data;
    }

    private int pending() {
        int pending = 0;
        for (Rail rail : rails) {
            pending += rail.pending();
        }
        return pending;
    }

    private void await(long deadline, String what, BooleanSupplier condition) {
        for (int tries = 0; !condition.getAsBoolean(); tries++) {
            pause(deadline, what, tries);
        }
    }

    /**
     * Makes progress between two tries of something. The last one is made after the deadline: a thread that got no processor
     * until then has not polled yet.
     *
     * @param tries so far; 0 begins a wait
     */
    private void pause(long deadline, String what, int tries) {
        if (tries > 0 && late) {
            throw new EpTimeoutException(
                    peer.label() + " accepted no data before the deadline: this rank waited for " + what + ", with "
                            + pending()
                            + " writes under way; the peer has not accepted " + (batch - done) + " of " + Records.COUNT
                            + " counter updates and " + (posted - accepted) + " of " + CREDIT
                            + " immediates; check that the process of that rank runs, or raise ep.timeout",
                    peer.failure().toBuilder()
                            .phase(what)
                            .expected(batch)
                            .seen(done)
                            .build());
        }
        late = deadline - System.nanoTime() <= 0;
        boolean moved = progress();
        checkAlive();
        if (!moved) {
            if (Pause.isTimeToCheck(tries)) {
                check.run();
            }
            Pause.after(tries);
        }
    }

    /** Nothing is posted or polled any more, and nothing of the peer arrives. A thread that waits here for the peer ends. */
    void end(String why) {
        news.add(() -> {
            cut();
            lose(why);
        });
        hold(this::takeNews);
    }

    /** Lets the peer know, as far as that needs no waiting. */
    private void cut() {
        if (cutByPeer) {
            return;
        }
        boolean posted = tellUnlessLost(Immediate.of(Immediate.CUT, 0));
        for (int i = 0; i < LAST_POLLS && lost == null && (!posted || pending() > 0); i++) {
            poll();
            posted = posted || tellUnlessLost(Immediate.of(Immediate.CUT, 0));
        }
    }

    private boolean tellUnlessLost(int immediate) {
        try {
            return lost == null && tell(immediate);
        } catch (EpPeerLostException e) {
            return false;
        }
    }

    /** Progress for a link that waits for room on a NIC, where no thread is at this one, not even the calling one. */
    private void progressForOthers() {
        if (!lock.isHeldByCurrentThread()) {
            tryProgress();
        }
    }

    /** Progress, where no other thread is at it. */
    boolean tryProgress() {
        if (lost != null || !lock.tryLock()) {
            return false;
        }
        try {
            return progress();
        } finally {
            lock.unlock();
        }
    }

    /** Progress, where nobody has made any since the last call: for one thread that sees to links that nobody waits for. */
    boolean attend() {
        if (lost != null || !lock.tryLock()) {
            return false;
        }
        try {
            boolean moved = looks == looksAttended && progress();
            looksAttended = looks;
            return moved;
        } finally {
            lock.unlock();
        }
    }

    /** Takes in what has ended and what has come. True when anything happened. */
    private boolean progress() {
        looks++;
        takeNews();
        if (lost != null) {
            return true;
        }
        boolean moved = poll();
        if (lost == null && (arrivals.done() - told >= TELL || taken - takenTold >= TELL_TAKEN)) {
            int batches = (int) (arrivals.done() - told);
            int more = (int) (taken - takenTold);
            if (tellUnlessLost(Immediate.done(batches, more))) {
                told += batches;
                takenTold += more;
            }
        }
        return moved;
    }

    private boolean poll() {
        boolean moved = false;
        for (int r = 0; r < rails.length && lost == null; r++) {
            int count = wire.poll(r, completions);
            rails[r].polled();
            if (count < 0) {
                lose(rails[r], rails[r].name() + " cannot be polled: ", -count, "");
                return true;
            }
            for (int i = 0; i < count && lost == null; i++) {
                take(r, i);
            }
            moved |= count > 0;
        }
        if (lost == null) {
            arrivals.settle();
            arrivals.problem().ifPresent(problem -> lose("its messages cannot be trusted: " + problem));
        }
        // What came before it may be in the queue of another rail.
        if (lost == null && cutByPeer && !moved) {
            lose("it has closed the connection, or excluded this rank");
        }
        return moved;
    }

    private void take(int rail, int index) {
        switch (completions.kind(index)) {
            case Completions.SENT -> rails[rail].give(completions.slot(index));
            case Completions.CAME -> came(completions.immediate(index));
            default ->
                lose(rails[rail], rails[rail].name() + ": ", completions.error(index), ", " + wire.failure(rail));
        }
    }

    private void came(int immediate) {
        int number = Immediate.number(immediate);
        switch (Immediate.kind(immediate)) {
            case Immediate.DATA -> {
                taken++;
                arrivals.data(number);
            }
            case Immediate.RECORD -> {
                taken++;
                arrivals.record(number);
            }
            case Immediate.DONE -> {
                done += Immediate.batches(number);
                accepted += Immediate.taken(number);
            }
            default -> cutByPeer = true;
        }
    }

    /** The peer is gone: what has come is taken in, then the link ends. Does not wait. */
    void peerGone(String why) {
        news.add(() -> {
            for (int i = 0; i < LAST_TAKES && lost == null && poll(); i++) {
                // Takes in what is there.
            }
            // It may only have been stopped, and waits for this rank when it continues.
            cut();
            lose(why);
            // What failed before is a consequence.
            lost = peer.loss(why, peer.failure());
        });
        tryProgress();
    }

    /** What other threads have told, in the thread that holds the lock. */
    private void takeNews() {
        Runnable one = news.poll();
        while (one != null) {
            if (lost == null) {
                one.run();
            }
            one = news.poll();
        }
    }

    /** Loses the peer by an error number, which is named in what is thrown. */
    private void lose(Rail rail, String why, int error, String more) {
        String text = wire.error(error);
        lose(why + "error " + error + " (" + text + ")" + more, peer.failure(rail.device(), error, text));
    }

    private void lose(String why) {
        lose(why, peer.failure());
    }

    private void lose(String why, EpFailure failure) {
        if (lost == null) {
            arrivals.settle();
            lost = peer.loss(why, failure);
            wire.close();
            for (Rail rail : rails) {
                rail.abandon();
            }
        }
    }

    private void checkAlive() {
        if (lost != null) {
            throw lostNow();
        }
    }

    /** What to throw where the peer is lost. */
    EpPeerLostException lostNow() {
        LinkPeer.@Nullable Loss loss = lost;
        return new EpPeerLostException(
                (loss == null ? peer.label() + " cannot be reached" : loss.text())
                        + "; see the log of that rank and the state of its network, or continue without that rank",
                loss == null ? peer.failure() : loss.failure());
    }

    boolean isLost() {
        return lost != null;
    }

    LinkPeer peer() {
        return peer;
    }

    /** Keeps everybody else from it while a call runs. */
    void hold(Runnable call) {
        lock.lock();
        try {
            call.run();
        } finally {
            lock.unlock();
        }
    }

    /** What its rails have carried so far. Waits for nobody. */
    EpTraffic traffic() {
        List<EpTraffic.Lane> lanes =
                Arrays.stream(rails).map(rail -> rail.traffic(lost == null)).toList();
        return EpTraffic.of(EfaProvider.ID, peer.rank(), 0, lanes);
    }
}
