package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpTraffic;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.Pause;
import org.jspecify.annotations.Nullable;

/**
 * Everything between this rank and one peer: lanes over one or more pairs of ports (rails), counted writes over them, and
 * the failover of a rail. Safe for use from several threads, which wait for each other.
 *
 * <p>Small writes and all counters travel on one lane, the home lane, where RC keeps them in order. Larger writes are spread
 * over all lanes; then every lane passes a fence before the counter advances, see {@link Words}. Home lanes of different
 * peers lie on different ports.
 */
final class Link {
    /** For calls that only their deadline ends. */
    static final Runnable NO_CHECK = () -> {};

    private static final String NO_PORT = "no other port is left";

    private static final String HOME_ROOM = "room on the queue pair for small writes and counter updates";

    /** Polls for the reason of a refusal, which is there already: the queue pair failed by it. */
    private static final int ASKS = 64;

    /** Polls for all that is there: of 64 completions each, more than queue pairs of the default depth hold. */
    private static final int TAKES = 1 << 12;

    /** What an idle network needs for a small write. */
    private static final long MOMENT_NANOS = 100_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final LinkPeer peer;
    private final LinkMemory memory;
    private final LinkSettings settings;
    private final boolean atomics;
    private final Lanes lanes;
    private final Rail[] rails;
    private final Wire wire;
    private final SendQueue queue;
    private final Completions completions = new Completions(64);
    private final List<Failover> failovers = new ArrayList<>();
    private final LinkPoller poller = new LinkPoller();
    private final Queue<String> remarks = new ConcurrentLinkedQueue<>();
    private final SendQueue.Request request = new SendQueue.Request();
    private long homeBytes;
    private boolean spread;
    /** The lane that a write found which waited for room. */
    private @Nullable Lane chosen;

    private long fences;
    private long fencesTold;
    private final AtomicInteger failed = new AtomicInteger();
    // The last rail took no request; a completion that has not been looked at may say why.
    private @Nullable Rail refused;
    private volatile LinkPeer.@Nullable Loss lost;
    /** Of the call that has the lock. */
    private Runnable check = NO_CHECK;

    /**
     * A connected link.
     *
     * @param peer who is at the other end
     * @param memory words of the connection, here and there
     * @param atomics false when the receiver counts immediates
     * @param lanes all of them; lane {@code i} is on rail {@code i % rails}
     * @param rails pairs of ports
     */
    Link(
            LinkPeer peer,
            LinkMemory memory,
            LinkSettings settings,
            boolean atomics,
            List<Lane> lanes,
            int rails,
            Wire wire) {
        this.peer = peer;
        this.memory = memory;
        this.settings = settings;
        this.atomics = atomics;
        this.lanes = new Lanes(lanes, peer.start(), settings);
        this.wire = wire;
        this.rails = new Rail[rails];
        for (int r = 0; r < rails; r++) {
            this.rails[r] = new Rail(r, this.lanes.all(), peer.failure());
        }
        this.queue =
                new SendQueue(peer.index(), this.lanes.all(), wire, (lane, why) -> fail(lane.rail(), lane, why, false));
        for (Lane lane : lanes) {
            if (lane.ends().receives() > 0) {
                lane.receivesPosted(lane.ends().receives());
            }
        }
        lanes.stream().map(Lane::nic).distinct().forEach(nic -> nic.add(this::progressForOthers));
    }

    /**
     * Posts a write. The ranges have been checked.
     *
     * @param message whether it is of low latency, see {@link org.ep4j.spi.HostPosted#putMessage}
     * @param ending what ends a wait for room, see {@link org.ep4j.spi.HostPosted#setWaitCheck}
     */
    void write(Region region, long target, long source, long bytes, boolean message, Runnable ending) {
        write(region, target, source, bytes, message, settings.timeout(), ending);
    }

    /** Posts a write, and waits no longer than {@code longest} for room. */
    void write(
            Region region, long target, long source, long bytes, boolean message, Duration longest, Runnable ending) {
        lock.lock();
        try {
            check = ending;
            checkAlive();
            poller.beginCall(longest);
            long to = region.remoteAddress(peer.index()) + target;
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
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /**
     * Advances a counter after everything that was written before.
     *
     * @param buffer the peer's number of the buffer, for immediates
     * @param sent values so far, by counter; gets the new one
     * @param ending as in {@link #write(Region, long, long, long, boolean, Runnable)}
     */
    void advance(Region counters, int buffer, int counter, long[] sent, long value, Runnable ending) {
        lock.lock();
        try {
            check = ending;
            checkAlive();
            poller.beginCall(settings.timeout());
            if (value < sent[counter]) {
                throw new IllegalArgumentException("counter " + counter + " for " + peer.label() + " is at "
                        + sent[counter] + " and cannot go back to " + value);
            }
            boolean large = spread;
            if (large) {
                fence();
            }
            // One fence can be told of with a counter.
            tellFences(atomics || value == sent[counter] ? fences : fences - 1);
            long word = memory.remoteOf(counters) + 8L * counter;
            if (atomics && value > sent[counter]) {
                Lane home = homeWithRoom();
                long delta = value - sent[counter];
                sent[counter] = value;
                queue.append(home, add(counters, word, delta, value));
            } else if (!atomics) {
                count(counters, word, buffer, counter, sent, value);
            }
            homeBytes = 0;
            post(large);
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /** Posts what waits. Looks at completions only where many requests are under way, or something is wrong. */
    private void post(boolean large) {
        queue.flush();
        Lane home = lanes.home();
        if (large || home == null || home.isBusy() || refused != null || !ready()) {
            progress(1);
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
                boolean afterFence = fencesTold < fences;
                int plain = Immediate.counter(buffer, counter, place, digit);
                int code = afterFence ? Immediate.afterFence(plain) : plain;
                long result = sent[counter] + ((long) digit << (16 * place));
                Lane home = lanes.home();
                if (home == null || !tell(home, counters, word, code, result)) {
                    home = homeWithRoom();
                    queue.append(home, request.immediate(counters, word, code, result));
                }
                sent[counter] = result;
                fencesTold += afterFence ? 1 : 0;
            }
        }
    }

    /** Gives the peer an immediate with the last write of a lane, where that has not been posted; else returns false. */
    private boolean tell(Lane lane, Region words, long word, int code, long result) {
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
                if (!atomics && tell(lane, control, word, Immediate.lane(lane.index(), false), lane.fences() + 1)) {
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

    /** Tells of fences on the home lane. */
    private void tellFences(long until) {
        Region control = memory.control();
        long word = memory.remote(memory.words().fences());
        while (fencesTold < until) {
            Lane home = homeWithRoom();
            long step = atomics ? until - fencesTold : 1;
            fencesTold += step;
            queue.append(
                    home,
                    atomics
                            ? add(control, word, step, fencesTold)
                            : request.immediate(control, word, Immediate.fence(), fencesTold));
        }
    }

    /**
     * Waits until everything that was posted has arrived, and for other threads that use the link.
     *
     * @param ending as in {@link #write(Region, long, long, long, boolean, Runnable)}
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
            poller.beginCall(deadline);
            queue.flush();
            await("the end of all writes", () -> ready() && lanes.pending() == 0);
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /** Whether nothing is in flight. Lets what other threads have posted arrive for a moment, in which they post nothing more. */
    boolean isIdle() {
        checkAlive();
        if (!lock.tryLock()) {
            return false;
        }
        try {
            checkAlive();
            long end = System.nanoTime() + MOMENT_NANOS;
            do {
                progress(1);
                checkAlive();
            } while (lanes.pending() > 0 && System.nanoTime() - end < 0);
            return ready() && lanes.pending() == 0;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets all arrive that was posted, by other threads too, then posts something and lets it arrive. Other threads post nothing meanwhile.
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
            if (!drainWhileMoving(quiet)) {
                return false;
            }
            post.run();
            queue.flush();
            return drainWhileMoving(quiet);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets all arrive that was posted, then posts something and lets it arrive. Gives up rails on which nothing arrives for some time, and the link if that does
     * not help: nothing reads the source of a write any more.
     */
    void drainOrEnd(Duration quiet, Runnable post, String why) {
        hold(() -> {
            runCommands();
            if (lost == null && !drainWhileMoving(quiet)) {
                giveUpStuck(why);
            }
            if (lost == null && drainWhileMoving(quiet)) {
                post.run();
                queue.flush();
            }
            if (lost == null && !drainWhileMoving(quiet)) {
                lose(why, peer.failure());
            }
        });
    }

    private void giveUpStuck(String why) {
        for (Rail rail : rails) {
            if (rail.alive() && Rail.alive(rails) > 1 && rail.pending() > 0) {
                fail(rail.index(), rail.lane(0), why, true);
            }
        }
    }

    private boolean drainWhileMoving(Duration quiet) {
        int before = -1;
        long end = 0;
        boolean late = false;
        for (int tries = 0; !ready() || lanes.pending() > 0; tries++) {
            if (lanes.pending() != before) {
                before = lanes.pending();
                end = Deadline.in(quiet).nanoTime();
                late = false;
            } else if (late) {
                return false;
            } else {
                // A thread that got no processor meanwhile looks once more.
                late = end - System.nanoTime() <= 0;
            }
            progress(1);
            checkAlive();
            Pause.after(tries);
        }
        return true;
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

    private void await(String what, BooleanSupplier condition) {
        checkAlive();
        for (int tries = 0; !condition.getAsBoolean(); tries++) {
            progress(1);
            checkAlive();
            if (condition.getAsBoolean()) {
                return;
            }
            if (poller.isCallOver()) {
                throw new EpTimeoutException(
                        peer.label() + " accepted no data before the deadline: this rank waited for " + what + ", with "
                                + lanes.pending() + " requests under way" + state()
                                + "; check that the process of that rank runs, or raise ep.timeout",
                        peer.failure().toBuilder()
                                .phase(what)
                                .seen(lanes.pending())
                                .build());
            }
            if (Pause.isTimeToCheck(tries)) {
                check.run();
            }
            Pause.after(tries);
        }
    }

    private String state() {
        return failovers.isEmpty() ? "" : ", " + failovers.get(failovers.size() - 1);
    }

    /** Takes in what has arrived, so that no immediate of it comes later, unless another thread uses the link. Returns whether it was free. */
    boolean trySettle() {
        if (!lock.tryLock()) {
            return false;
        }
        try {
            takeIn();
            return true;
        } finally {
            lock.unlock();
        }
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

    /** There may be as many completions as the queue pairs hold, and no end of them where a peer goes on writing. */
    private void takeIn() {
        for (int i = 0; i < TAKES && lost == null; i++) {
            if (takeSome(1) == 0) {
                return;
            }
        }
    }

    /** Nothing is posted or polled any more, and nothing of the peer arrives. A thread that waits here for the peer ends. */
    void end(String why) {
        poller.submit(() -> lose(why, peer.failure()));
        hold(this::runCommands);
    }

    /** Progress for a link that waits for room on a NIC, where no thread is at this one, not even the calling one. */
    private void progressForOthers() {
        if (!lock.isHeldByCurrentThread()) {
            tryProgress();
        }
    }

    /** Progress, where no other thread is at it. */
    boolean tryProgress() {
        return tryProgress(1);
    }

    /** Number of progress passes so far, by any thread; a pass may poll several times. */
    long passes() {
        return poller.passes();
    }

    /** As {@link #tryProgress()}; polls the completion queues up to {@code polls} times, until something is there. */
    boolean tryProgress(int polls) {
        if (!lock.tryLock()) {
            return false;
        }
        try {
            return lost == null && progress(polls);
        } finally {
            lock.unlock();
        }
    }

    /** Posts what waits, takes in what has ended, and goes on with failovers. True when anything happened. */
    private boolean progress(int polls) {
        poller.countPass();
        runCommands();
        if (lost != null) {
            return true;
        }
        queue.flush();
        int count = takeSome(polls);
        if (lost != null) {
            return true;
        }
        if (refused != null) {
            loseRefused(refused);
            return true;
        }
        boolean moved = count > 0;
        lookAtPeer();
        if (failed.getPlain() > 0) {
            tellPeer();
        }
        // The newest first: an older one may have put its requests on the lanes of a newer one.
        while (!failovers.isEmpty() && lost == null) {
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

    /** Without completions nothing can go on, and the thread that finds out may be one that nobody listens to. */
    private int takeSome(int polls) {
        try {
            int count = wire.poll(completions, polls);
            for (int i = 0; i < count; i++) {
                take(i);
            }
            return count;
        } catch (EpException e) {
            lose(String.valueOf(e.getMessage()), peer.failure());
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
        return peer.failure(lane.ends().nic(), status, wire.status(status));
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

    /** Tells of stopped rails. Each by itself: a failover of the peer may wait for any of them. */
    private void tellPeer() {
        for (Rail rail : rails) {
            Lane home = lanes.home();
            if (rail.toTell() && home != null && home.hasRoom()) {
                Region control = memory.control();
                long word = memory.remote(memory.words().stopped(rail.index()));
                rail.toldOver(home);
                request.write(control, word, control, memory.one(), Long.BYTES);
                request.message = true;
                queue.append(home, request);
            }
        }
    }

    private void fail(Lane lane, int status, int index) {
        boolean cause = status != Completions.FLUSHED;
        String why = completions.text(index, wire.status(status));
        fail(lane.rail(), lane, why, cause, cause ? failure(lane, status) : peer.failure());
    }

    private void fail(int index, Lane lane, String why, boolean status) {
        fail(index, lane, why, status, peer.failure());
    }

    /** A rail does not work any more; what was on it goes to the others. */
    private void fail(int index, Lane lane, String why, boolean status, EpFailure failure) {
        Rail rail = rails[index];
        rail.told(lane, why, status, failure);
        if (!rail.alive() || lost != null) {
            return;
        }
        rail.stop(wire);
        failed.incrementAndGet();
        if (lanes.home() == null && status) {
            lose(NO_PORT, rail.failure());
        } else if (lanes.home() == null) {
            refused = rail;
        } else {
            remarks.add(peer.label() + ": " + rail.lane(0).ends().name() + " is given up, and " + Rail.alive(rails)
                    + " other pairs of ports take over its traffic; check the ports of the failed pair; this pair is used again when"
                    + " the group is joined again" + rail.causes());
            failovers.forEach(Failover::readAgain);
            failovers.add(new Failover(rail, lanes::home, memory, atomics, queue));
        }
    }

    /** The call that was refused is one of many that may be under way, so nothing is polled inside of it. */
    private void loseRefused(Rail rail) {
        for (int i = 0; i < ASKS && lost == null && !rail.hasStatus(); i++) {
            takeSome(1);
        }
        lose(NO_PORT, rail.failure());
    }

    /** A port of this rank went down: its rails are given up where there are others. Does not wait. */
    void portDown(int port, String why) {
        poller.submit(() -> giveUpPort(port, why));
        tryProgress();
    }

    private void giveUpPort(int port, String why) {
        for (Rail rail : rails) {
            if (!rail.alive() || rail.lane(0).ends().port() != port) {
                continue;
            }
            if (Rail.alive(rails) > 1) {
                fail(rail.index(), rail.lane(0), why, true);
            } else {
                remarks.add(peer.label() + ": " + rail.lane(0).ends().name()
                        + " is down, and no other pair of ports is left: writes in flight wait for this pair, and fail when the retries of the NIC end; "
                        + why);
            }
        }
    }

    /** The peer is gone. Does not wait. */
    void peerGone(String why) {
        poller.submit(() -> {
            // What it sent before is worth having. What fails here is a consequence.
            takeIn();
            lose(why, peer.failure());
            lost = peer.loss(why, peer.failure());
        });
        tryProgress();
    }

    private void runCommands() {
        if (poller.hasCommands()) {
            poller.runCommands(() -> lost == null);
        }
    }

    private void lose(String why, EpFailure failure) {
        if (lost != null) {
            return;
        }
        for (Rail rail : rails) {
            rail.stop(wire);
        }
        for (Lane lane : lanes.all()) {
            lane.inFlight().abandon();
        }
        lost = peer.loss(why, failure);
    }

    private void checkAlive() {
        if (lost != null) {
            throw lostNow();
        }
    }

    /** What to throw where the peer is lost. */
    EpPeerLostException lostNow() {
        LinkPeer.@Nullable Loss loss = lost;
        StringBuilder text = new StringBuilder(loss == null ? peer.label() + " cannot be reached" : loss.text());
        for (Rail rail : rails) {
            text.append(rail.causes());
        }
        return new EpPeerLostException(
                text + "; see the log of that rank and the state of these ports, or continue without that rank",
                loss == null ? peer.failure() : loss.failure());
    }

    boolean isLost() {
        return lost != null;
    }

    LinkPeer peer() {
        return peer;
    }

    /** The words of the connection, for readers of the peer's counters. */
    LinkMemory memory() {
        return memory;
    }

    /** What people should know of the link, once; null where there is nothing new. */
    @Nullable
    String remark() {
        return remarks.poll();
    }

    /** What its lanes have carried so far, and how many rails were given up. Waits for nobody. */
    EpTraffic traffic() {
        return EpTraffic.of(IbrcProvider.ID, peer.rank(), failed.get(), lanes.carried());
    }
}
