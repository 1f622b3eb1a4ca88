package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTraffic;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.posted.PostedConnection;
import org.ep4j.transport.posted.PostedPeer;
import org.jspecify.annotations.Nullable;

/**
 * Counted writes between this rank and one peer on lanes over one or more pairs of ports (rails), and the failover of a rail.
 *
 * <p>Small writes and all counters travel on one lane, the home lane, where RC keeps them in order. Larger writes are spread
 * over all lanes; then every lane passes a fence before the counter advances, see {@link Words}. Home lanes of different
 * peers lie on different ports.
 */
final class Link extends PostedConnection<IbrcMemory> {
    private static final String NO_PORT = "no other port is left";

    private static final String HOME_ROOM = "room on the queue pair for small writes and counter updates";

    /** Polls for the reason of a refusal, which is there already: the queue pair failed by it. */
    private static final int ASKS = 64;

    private final LinkMemory memory;
    private final LinkSettings settings;
    private final boolean atomics;
    private final Lanes lanes;
    private final Rail[] rails;
    private final Wire wire;
    private final SendQueue queue;
    private final Completions completions = new Completions(64);
    private final List<Failover> failovers = new ArrayList<>();
    private final SendQueue.Request request = new SendQueue.Request();
    private long homeBytes;
    private boolean spread;
    /** The lane that a write found which waited for room. */
    private @Nullable Lane chosen;

    private long fences;
    private long fencesAnnounced;
    private final AtomicInteger failed = new AtomicInteger();
    // The last rail took no request; a completion that has not been looked at may say why.
    private @Nullable Rail refused;

    /**
     * A connected link.
     *
     * @param memory words of the connection, here and there
     * @param atomics false when the receiver counts immediates
     * @param lanes all of them; lane {@code i} is on rail {@code i % rails}
     * @param rails number of pairs of ports
     */
    Link(
            PostedPeer peer,
            LinkMemory memory,
            LinkSettings settings,
            boolean atomics,
            Lanes lanes,
            int rails,
            Wire wire) {
        super(peer, settings.timeout());
        this.memory = memory;
        this.settings = settings;
        this.atomics = atomics;
        this.lanes = lanes;
        this.wire = wire;
        this.rails = new Rail[rails];
        for (int r = 0; r < rails; r++) {
            this.rails[r] = new Rail(r, lanes.all(), peer().failure());
        }
        this.queue = new SendQueue(peer.index(), lanes.all(), wire, (lane, why) -> fail(lane.rail(), lane, why, false));
        for (Lane lane : lanes.all()) {
            if (lane.ends().receives() > 0) {
                lane.receivesPosted(lane.ends().receives());
            }
        }
        Arrays.stream(lanes.all()).map(Lane::nic).distinct().forEach(nic -> nic.add(this::progressForOthers));
    }

    @Override
    protected void post(IbrcMemory buffer, long target, long source, long bytes, boolean message) {
        post(buffer.data(), target, source, bytes, message);
    }

    private void post(Region region, long target, long source, long bytes, boolean message) {
        long to = region.remoteAddress(peer().index()) + target;
        long from = region.address() + source;
        boolean small = homeBytes + bytes <= settings.stripe();
        long done = 0;
        while (done < bytes) {
            Lane lane = laneFor(small, bytes - done, message);
            int piece = piece(lane, small, bytes - done);
            request.write(region, to + done, region, from + done, piece);
            request.message = message;
            request.hasRoom = true;
            queue.append(lane, request);
            done += piece;
            if (!small) {
                lanes.took(piece);
            }
        }
        homeBytes += small ? bytes : 0;
    }

    /** Copies the word that is 1 to this rank's word on the peer. */
    @Override
    protected void postClosed(IbrcMemory buffer) {
        post(buffer.counters(), buffer.closed(memory.self()), buffer.one(), Long.BYTES, true);
    }

    @Override
    protected void postSignal(IbrcMemory buffer, int counter, long[] sent, long value) {
        boolean large = spread;
        if (large) {
            fence();
        }
        // A counter can announce one fence.
        announceFences(atomics ? fences : fences - 1);
        Region counters = buffer.counters();
        long word = memory.remoteOf(counters) + 8L * counter;
        if (atomics) {
            Lane home = homeWithRoom();
            long delta = value - sent[counter];
            sent[counter] = value;
            queue.append(home, add(counters, word, delta, value));
        } else {
            count(counters, word, buffer.number(peer().index()), counter, sent, value);
        }
        homeBytes = 0;
        queue.flush();
        Lane home = lanes.home();
        if (large || home == null || home.isBusy() || refused != null || !ready()) {
            progress();
        }
    }

    private SendQueue.Request add(Region region, long word, long delta, long result) {
        return request.add(region, word, delta, result, memory.control(), memory.scratch());
    }

    private void count(Region counters, long word, int buffer, int counter, long[] sent, long value) {
        long delta = value - sent[counter];
        for (int place = 0; place < 4; place++) {
            int digit = (int) ((delta >>> (16 * place)) & 0xffff);
            if (digit > 0) {
                boolean afterFence = fencesAnnounced < fences;
                int plain = Immediate.counter(buffer, counter, place, digit);
                int code = afterFence ? Immediate.afterFence(plain) : plain;
                long result = sent[counter] + ((long) digit << (16 * place));
                Lane home = lanes.home();
                if (home == null || !appendToLast(home, counters, word, code, result)) {
                    home = homeWithRoom();
                    queue.append(home, request.immediate(counters, word, code, result));
                }
                sent[counter] = result;
                fencesAnnounced += afterFence ? 1 : 0;
            }
        }
    }

    /** Sends an immediate with the last write of a lane, where that has not been posted; else returns false. */
    private boolean appendToLast(Lane lane, Region words, long word, int code, long result) {
        return ready() && queue.count(lane, words, word, code, result);
    }

    /** Makes every lane pass a fence. One that could not be ended is made up for by the next. */
    private void fence() {
        fences++;
        Region control = memory.control();
        for (Lane lane : lanes.all()) {
            long word = memory.remote(memory.words().lane(lane.index()));
            // A lane that was given up has passed all fences.
            while (lane.alive() && lane.fences() < fences) {
                if (!atomics
                        && appendToLast(lane, control, word, Immediate.lane(lane.index(), false), lane.fences() + 1)) {
                    lane.passFences(1);
                    continue;
                }
                if (!(ready() && lane.hasRoom())) {
                    await("room on " + lane.ends().name(), () -> ready() && (!lane.alive() || lane.hasRoom()));
                    continue;
                }
                long step = atomics ? fences - lane.fences() : 1;
                lane.passFences(step);
                queue.append(
                        lane,
                        atomics
                                ? add(control, word, step, fences)
                                : request.immediate(control, word, Immediate.lane(lane.index(), false), lane.fences()));
            }
        }
        spread = false;
    }

    /** Announces fences on the home lane. */
    private void announceFences(long until) {
        Region control = memory.control();
        long word = memory.remote(memory.words().fences());
        while (fencesAnnounced < until) {
            Lane home = homeWithRoom();
            long step = atomics ? until - fencesAnnounced : 1;
            fencesAnnounced += step;
            queue.append(
                    home,
                    atomics
                            ? add(control, word, step, fencesAnnounced)
                            : request.immediate(control, word, Immediate.fence(), fencesAnnounced));
        }
    }

    @Override
    protected int inFlight() {
        return lanes.pending() + failovers.size();
    }

    /** Gives up rails, where there are others. */
    @Override
    protected void giveUp(String why) {
        for (Rail rail : rails) {
            if (rail.alive() && Rail.alive(rails) > 1 && rail.pending() > 0) {
                fail(rail.index(), rail.lane(0), why, true);
            }
        }
    }

    private boolean ready() {
        return failovers.isEmpty();
    }

    /** The lane for the next piece of a write, which has taken room on the NIC for it. */
    private Lane laneFor(boolean small, long left, boolean message) {
        Lane lane = small ? homeFor(left, message) : nextFor(left, message);
        if (lane == null) {
            await(small ? HOME_ROOM : "room on any queue pair", () -> {
                chosen = small ? homeFor(left, message) : nextFor(left, message);
                return chosen != null;
            });
            lane = Objects.requireNonNull(chosen);
        }
        if (!small && !lane.equals(lanes.home())) {
            spread = true;
        }
        return lane;
    }

    private @Nullable Lane homeFor(long left, boolean message) {
        Lane home = lanes.home();
        return ready() && home != null && home.hasRoom() && takes(home, piece(home, true, left), message) ? home : null;
    }

    /** Tries each lane once: ports may be of NICs with limits of their own. */
    private @Nullable Lane nextFor(long left, boolean message) {
        for (int tries = 0; ready() && tries < lanes.all().length && lanes.advanceToRoom(); tries++) {
            Lane lane = lanes.current();
            if (takes(lane, piece(lane, false, left), message)) {
                return lane;
            }
            lanes.skip();
        }
        return null;
    }

    /** Takes room on a lane's NIC. Where there is none, other links may hold what they need no more. */
    private boolean takes(Lane lane, int piece, boolean message) {
        NicFlow nic = lane.nic();
        if (nic.take(piece, message)) {
            return true;
        }
        nic.progress();
        return nic.take(piece, message);
    }

    private int piece(Lane lane, boolean small, long left) {
        long most = small || lanes.alive() == 1
                ? lane.ends().maxMessage()
                : Math.min(settings.stripe(), lane.ends().maxMessage());
        return (int) Math.min(Math.min(most, lane.nic().longest()), left);
    }

    private Lane homeWithRoom() {
        Lane home = lanes.home();
        while (home == null || !ready() || !home.hasRoom()) {
            await(HOME_ROOM, this::homeHasRoom);
            home = lanes.home();
        }
        return home;
    }

    private boolean homeHasRoom() {
        Lane home = lanes.home();
        return ready() && home != null && home.hasRoom();
    }

    @Override
    protected Backlog backlog() {
        int pending = lanes.pending();
        String state = ready() ? "" : ", " + failovers.get(failovers.size() - 1);
        return new Backlog(pending + " requests under way" + state, 0, pending);
    }

    /** Posts what waits, takes in what has ended, and goes on with failovers. */
    @Override
    protected boolean poll(int polls) {
        queue.flush();
        int count = takeSome(polls);
        if (isLost()) {
            return true;
        }
        if (refused != null) {
            loseRefused(refused);
            return true;
        }
        boolean moved = count > 0;
        lookAtPeer();
        if (failed.getPlain() > 0) {
            announceStopped();
        }
        // The newest first: an older one may have put its requests on the lanes of a newer one.
        while (!failovers.isEmpty() && !isLost()) {
            Failover newest = failovers.get(failovers.size() - 1);
            if (!newest.step()) {
                break;
            }
            moved = true;
            if (newest.done()) {
                failovers.remove(newest);
            }
        }
        queue.flush();
        return moved;
    }

    @Override
    protected boolean takeCompletions() {
        return takeSome(1) > 0;
    }

    /** Without completions nothing can go on, and the thread that finds out may be one that nobody listens to. */
    private int takeSome(int polls) {
        try {
            int count = wire.poll(completions, polls);
            for (int i = 0; i < count; i++) {
                take(i);
            }
            return count;
        } catch (EpException e) {
            lose(String.valueOf(e.getMessage()), peer().failure());
            return 0;
        }
    }

    private void take(int index) {
        long id = completions.id(index);
        Lane lane = lanes.get(Completions.lane(id));
        int status = completions.status(index);
        if (Completions.isReceive(id)) {
            lane.receiveDone();
            if (status == 0) {
                memory.apply(completions.immediate(index));
                postReceives(lane);
            } else if (lane.alive()) {
                fail(lane, status, index);
            }
        } else if (status == 0) {
            if (!lane.sealed()) {
                lane.inFlight().retire(Completions.number(id, lane.inFlight().retired()) + 1);
            }
        } else if (Completions.isPathFailure(status)) {
            fail(lane, status, index);
        } else {
            lose(lane.ends().name() + ": " + completions.text(index, wire.status(status)), failure(lane, status));
        }
    }

    private EpFailure failure(Lane lane, int status) {
        return peer().failure(lane.ends().nic(), status, wire.status(status));
    }

    private void postReceives(Lane lane) {
        int count = lane.receivesToPost();
        if (count > 0) {
            int posted = wire.postReceives(lane.index(), count);
            lane.receivesPosted(Math.max(0, posted));
            if (posted < count) {
                String why = posted < 0 ? wire.error(-posted) : posted + " of " + count + " were accepted";
                fail(lane.rail(), lane, "the queue pair did not accept all receive requests: " + why, false);
            }
        }
    }

    private void lookAtPeer() {
        for (Rail rail : rails) {
            if (rail.alive() && memory.stoppedByPeer(rail.index())) {
                fail(rail.index(), rail.lane(0), "the peer stopped using the port", false);
            }
        }
    }

    /** Announces stopped rails, each separately: a failover of the peer may wait for any of them. */
    private void announceStopped() {
        for (Rail rail : rails) {
            Lane home = lanes.home();
            if (rail.mustBeAnnounced() && home != null && home.hasRoom()) {
                Region control = memory.control();
                long word = memory.remote(memory.words().stopped(rail.index()));
                rail.announcedOver(home);
                request.write(control, word, control, memory.one(), Long.BYTES);
                request.message = true;
                queue.append(home, request);
            }
        }
    }

    private void fail(Lane lane, int status, int index) {
        boolean cause = status != Completions.FLUSHED;
        String why = completions.text(index, wire.status(status));
        fail(lane.rail(), lane, why, cause, cause ? failure(lane, status) : peer().failure());
    }

    private void fail(int index, Lane lane, String why, boolean status) {
        fail(index, lane, why, status, peer().failure());
    }

    /** A rail does not work any more; what was on it goes to the others. */
    private void fail(int index, Lane lane, String why, boolean status, EpFailure failure) {
        Rail rail = rails[index];
        rail.failed(lane, why, status, failure);
        if (!rail.alive() || isLost()) {
            return;
        }
        rail.stop(wire);
        failed.incrementAndGet();
        if (lanes.home() == null && status) {
            lose(NO_PORT, rail.failure());
        } else if (lanes.home() == null) {
            refused = rail;
        } else {
            warn(peer().label() + ": " + rail.lane(0).ends().name() + " is given up, and " + Rail.alive(rails)
                    + " other pairs of ports take over its traffic; check the ports of the failed pair; this pair is used again when"
                    + " the group is joined again" + rail.causes());
            failovers.forEach(Failover::readAgain);
            failovers.add(new Failover(rail, lanes::home, memory, atomics, queue));
        }
    }

    /** The call that was refused is one of many that may be under way, so nothing is polled inside of it. */
    private void loseRefused(Rail rail) {
        for (int i = 0; i < ASKS && !isLost() && !rail.hasStatus(); i++) {
            takeSome(1);
        }
        lose(NO_PORT, rail.failure());
    }

    /** A port of this rank went down: its rails are given up where there are others. Does not wait. */
    void portDown(int port, String why) {
        submit(() -> giveUpPort(port, why));
    }

    private void giveUpPort(int port, String why) {
        for (Rail rail : rails) {
            if (!rail.alive() || rail.lane(0).ends().port() != port) {
                continue;
            }
            if (Rail.alive(rails) > 1) {
                fail(rail.index(), rail.lane(0), why, true);
            } else {
                warn(peer().label() + ": " + rail.lane(0).ends().name()
                        + " is down, and no other pair of ports is left: writes in flight wait for this pair, and fail when the retries of the NIC end; "
                        + why);
            }
        }
    }

    @Override
    protected void stop() {
        for (Rail rail : rails) {
            rail.stop(wire);
        }
        for (Lane lane : lanes.all()) {
            lane.inFlight().abandon();
        }
    }

    @Override
    protected String lossAdvice() {
        StringBuilder causes = new StringBuilder();
        for (Rail rail : rails) {
            causes.append(rail.causes());
        }
        return causes + "; see the log of that rank and the state of these ports";
    }

    /** The words of the connection, for readers of the peer's counters. */
    LinkMemory memory() {
        return memory;
    }

    @Override
    public EpTraffic traffic() {
        return EpTraffic.of(IbrcProvider.ID, peer().rank(), failed.get(), lanes.carried());
    }
}
