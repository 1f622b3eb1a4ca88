package org.ep4j.backend.efa;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTraffic;
import org.ep4j.transport.posted.PostedConnection;
import org.ep4j.transport.posted.PostedPeer;

/**
 * Counted writes between this rank and one peer over one or more pairs of NICs (rails).
 *
 * <p>Nothing is taken to arrive in the order in which it was posted. What is written goes in batches, see {@link Records};
 * every write carries the number of its batch, and the peer counts, see {@link Arrivals}. At most {@link Records#COUNT}
 * batches are under way, and at most {@link #CREDIT} immediates that the peer has not taken out of its queue, which would run
 * over otherwise while nobody polls it: the peer acknowledges both.
 */
final class Link extends PostedConnection<EfaMemory> {
    /** Larger writes go in pieces, so that all rails take part. */
    static final int PIECE = 1 << 20;

    /** Immediates that the peer may not have taken yet. */
    static final int CREDIT = 1024;

    /** The peer gets an acknowledgement when a quarter of its batches is done with, or of its immediates is taken. */
    private static final int ACK_BATCHES = Records.COUNT / 4;

    private static final int ACK_TAKEN = CREDIT / 4;

    /** Polls for a last immediate to leave before a connection closes; it is not waited for. */
    private static final int LAST_POLLS = 64;

    private final Wire wire;
    private final Rail[] rails;
    private final Records records;
    private final Arrivals arrivals;
    private final Completions completions = new Completions(64);
    private int next;
    private long batch;
    private int writes;
    private int piece;
    private long done;
    private long ackedBatches;
    private long posted;
    private long accepted;
    private long taken;
    private long ackedTaken;
    private boolean cutByPeer;

    /**
     * A link whose endpoints know each other.
     *
     * @param sink of what comes from the peer
     * @param timeout longest wait of a call that has no deadline of its own
     */
    Link(PostedPeer peer, Wire wire, List<Rail> rails, Records records, Arrivals.Sink sink, Duration timeout) {
        super(peer, timeout);
        this.wire = wire;
        this.rails = rails.toArray(new Rail[0]);
        this.records = records;
        this.arrivals = new Arrivals(records, sink);
        rails.forEach(rail -> rail.nic().add(this::progressForOthers));
        // Neighbours begin on different rails.
        this.next = peer.index() % this.rails.length;
    }

    @Override
    protected void post(EfaMemory memory, long target, long source, long bytes, boolean message) {
        awaitBatch();
        int immediate = Immediate.of(Immediate.DATA, Records.place(batch));
        Region remote = memory.at(peer().index()).data();
        for (long at = 0; at < bytes; at += piece) {
            long from = at;
            piece = tryPiece(memory.data(), remote, target + at, source + at, bytes - at, message, immediate);
            if (piece == 0) {
                await("room for a write", () -> {
                    piece = tryPiece(
                            memory.data(), remote, target + from, source + from, bytes - from, message, immediate);
                    return piece > 0;
                });
            }
            writes++;
        }
    }

    /** Posts one piece on the next rail that has room; returns its length, 0 where none has. */
    private int tryPiece(
            Region local, Region remote, long target, long source, long bytes, boolean message, int immediate) {
        for (int tries = 0; tries < rails.length; tries++) {
            Rail rail = nextRail();
            Keys to = remote.keys().get(rail.peerPlace());
            Keys from = local.keys().get(rail.place());
            long most = Math.min(Math.min(PIECE, rail.longest()), to.left(target));
            int length = (int) Math.min(Math.min(bytes, most), from.left(source));
            int slot = hasCredit() ? rail.take(length, message) : -1;
            if (slot >= 0) {
                int result = wire.write(
                        rail.index(),
                        to.target(remote.address(), target),
                        to.at(target),
                        local.address() + source,
                        from.at(source),
                        length,
                        slot,
                        immediate);
                if (result == 0) {
                    posted++;
                    rail.traffic().write(length);
                    return length;
                }
                refused(rail, slot, result);
            }
        }
        return 0;
    }

    private Rail nextRail() {
        Rail rail = rails[next];
        next = (next + 1) % rails.length;
        return rail;
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

    private void awaitBatch() {
        if (batch - done >= Records.COUNT) {
            await("the peer to accept earlier counter updates", () -> batch - done < Records.COUNT);
        }
    }

    @Override
    protected void postSignal(EfaMemory memory, int counter, long[] sent, long value) {
        endBatch(Records.ADVANCE, memory, counter, value);
        sent[counter] = value;
        progress();
    }

    @Override
    protected void postClosed(EfaMemory memory) {
        endBatch(Records.CLOSE, memory, 0, 0);
    }

    /** Ends the batch with its record, which is posted from its place in memory: nobody writes there before the peer is done. */
    private void endBatch(int kind, EfaMemory memory, int counter, long value) {
        awaitBatch();
        records.put(batch, writes, kind, memory.at(peer().index()).number(), counter, value);
        if (!tryRecord()) {
            await("room for a counter", this::tryRecord);
        }
        batch++;
        writes = 0;
    }

    private boolean tryRecord() {
        for (int tries = 0; tries < rails.length; tries++) {
            Rail rail = nextRail();
            int slot = hasCredit() ? rail.takeForRecord() : -1;
            if (slot >= 0) {
                int result = records.post(wire, rail.index(), slot, Records.place(batch));
                if (result == 0) {
                    posted++;
                    rail.traffic().signal();
                    return true;
                }
                refused(rail, slot, result);
            }
        }
        return false;
    }

    /** Posts an immediate alone. False where there is no room. */
    private boolean sendImmediate(int immediate) {
        for (Rail rail : rails) {
            if (sendImmediate(rail, immediate)) {
                return true;
            }
        }
        return false;
    }

    private boolean sendImmediate(Rail rail, int immediate) {
        int slot = rail.takeBare();
        if (slot < 0) {
            return false;
        }
        int result = records.postBare(wire, rail.index(), slot, immediate);
        if (result != 0) {
            refused(rail, slot, result);
        }
        return result == 0;
    }

    /** Also connects the rails. */
    @Override
    protected void establish() {
        for (Rail rail : rails) {
            await("a connection from " + rail.name(), () -> sendImmediate(rail, Immediate.done(0, 0)));
        }
        await("an answer", () -> inFlight() == 0);
    }

    @Override
    protected boolean hasRoom() {
        return batch - done <= Records.COUNT / 2 && posted - accepted <= CREDIT / 2;
    }

    @Override
    protected int sourcesInFlight() {
        int data = 0;
        for (Rail rail : rails) {
            data += rail.data();
        }
        return data;
    }

    @Override
    protected int inFlight() {
        int pending = 0;
        for (Rail rail : rails) {
            pending += rail.pending();
        }
        return pending;
    }

    @Override
    protected Backlog backlog() {
        return new Backlog(
                inFlight() + " writes under way; the peer has not accepted " + (batch - done) + " of "
                        + Records.COUNT + " counter updates and " + (posted - accepted) + " of " + CREDIT
                        + " immediates",
                batch,
                done);
    }

    @Override
    protected void notifyEnd() {
        if (cutByPeer) {
            return;
        }
        boolean sent = sendUnlessLost(Immediate.of(Immediate.CUT, 0));
        for (int i = 0; i < LAST_POLLS && !isLost() && (!sent || inFlight() > 0); i++) {
            takeCompletions();
            sent = sent || sendUnlessLost(Immediate.of(Immediate.CUT, 0));
        }
    }

    private boolean sendUnlessLost(int immediate) {
        try {
            return !isLost() && sendImmediate(immediate);
        } catch (EpPeerLostException e) {
            return false;
        }
    }

    @Override
    protected boolean poll(int polls) {
        boolean moved = takeCompletions();
        if (!isLost() && (arrivals.done() - ackedBatches >= ACK_BATCHES || taken - ackedTaken >= ACK_TAKEN)) {
            int batches = (int) (arrivals.done() - ackedBatches);
            int more = (int) (taken - ackedTaken);
            if (sendUnlessLost(Immediate.done(batches, more))) {
                ackedBatches += batches;
                ackedTaken += more;
            }
        }
        return moved;
    }

    @Override
    protected boolean takeCompletions() {
        boolean moved = false;
        for (int r = 0; r < rails.length && !isLost(); r++) {
            int count = wire.poll(r, completions);
            rails[r].polled();
            if (count < 0) {
                lose(rails[r], rails[r].name() + " cannot be polled: ", -count, "");
                return true;
            }
            for (int i = 0; i < count && !isLost(); i++) {
                take(r, i);
            }
            moved |= count > 0;
        }
        if (!isLost()) {
            arrivals.settle();
            arrivals.problem()
                    .ifPresent(problem -> lose("its messages cannot be trusted: " + problem, peer().failure()));
        }
        // What came before it may be in the queue of another rail.
        if (!isLost() && cutByPeer && !moved) {
            lose("it has closed the connection, or excluded this rank", peer().failure());
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

    /** Loses the peer by an error number, which is named in what is thrown. What has arrived before counts. */
    private void lose(Rail rail, String why, int error, String more) {
        arrivals.settle();
        String text = wire.error(error);
        lose(why + "error " + error + " (" + text + ")" + more, peer().failure(rail.device(), error, text));
    }

    @Override
    protected void stop() {
        wire.close();
        for (Rail rail : rails) {
            rail.abandon();
        }
    }

    @Override
    public EpTraffic traffic() {
        List<EpTraffic.Lane> lanes =
                Arrays.stream(rails).map(rail -> rail.traffic().read(!isLost())).toList();
        return EpTraffic.of(EfaProvider.ID, peer().rank(), 0, lanes);
    }
}
