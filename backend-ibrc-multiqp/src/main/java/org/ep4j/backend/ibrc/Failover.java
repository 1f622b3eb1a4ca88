package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Moves what was on a rail to another one, so that nothing is lost and nothing happens twice.
 *
 * <p>A failed request may have been executed by the peer all the same, and adding twice to a counter would be wrong, as would
 * be writing again what the peer has counted and may have given away. So both ranks first stop their queue pairs of the
 * rail and notify each other by a word on another rail. From then on nothing that was posted to it can arrive. Then the words
 * that the requests under way would have advanced are read back: RC executes in order, so all requests up to the last one
 * whose word has advanced were executed, and none behind it. These are posted again. For one thread at a time.
 */
final class Failover {
    private enum Stage {
        WAITING,
        READING,
        REPLAYING,
        DONE
    }

    private final Rail rail;
    private final Supplier<@Nullable Lane> home;
    private final LinkMemory memory;
    private final boolean atomics;
    private final SendQueue queue;
    private final SendQueue.Request request = new SendQueue.Request();
    private final List<Region> toRead = new ArrayList<>();
    private final List<long[]> words = new ArrayList<>();
    private final List<Long> missing = new ArrayList<>();
    private Stage stage = Stage.WAITING;
    private @Nullable Lane reader;
    private long lastRead;
    private int replayLane;
    private long replayNext;

    Failover(Rail rail, Supplier<@Nullable Lane> home, LinkMemory memory, boolean atomics, SendQueue queue) {
        this.rail = rail;
        this.home = home;
        this.memory = memory;
        this.atomics = atomics;
        this.queue = queue;
    }

    boolean done() {
        return stage == Stage.DONE;
    }

    /** Goes on as far as possible without waiting; true when a stage was ended. */
    boolean step() {
        Stage before = stage;
        switch (stage) {
            case WAITING -> listen();
            case READING -> read();
            case REPLAYING -> replay();
            case DONE -> {}
        }
        return stage != before;
    }

    /** Another failover has used, or will use, the room that words are read to: what was being read is read again. */
    void readAgain() {
        reader = null;
    }

    private void listen() {
        if (memory.stoppedByPeer(rail.index())) {
            startReading();
        }
    }

    private void startReading() {
        for (Lane lane : rail.lanes()) {
            lane.seal();
            for (long n = lane.inFlight().retired(); n < lane.inFlight().posted(); n++) {
                Region counted = lane.inFlight().get(n).counted;
                if (counted != null && !toRead.contains(counted)) {
                    toRead.add(counted);
                }
            }
        }
        stage = Stage.READING;
    }

    /** Reads the words of one region after the other. */
    private void read() {
        while (words.size() < toRead.size()) {
            Lane via = reader;
            if (via == null || !via.alive()) {
                via = roomy();
                if (via == null) {
                    return;
                }
                Region region = toRead.get(words.size());
                Region control = memory.control();
                reader = via;
                lastRead = queue.append(
                        via,
                        request.read(region, memory.remoteOf(region), control, memory.copy(), memory.length(region)));
                queue.flush();
            }
            if (via.inFlight().retired() <= lastRead) {
                return;
            }
            words.add(memory.copied());
            reader = null;
        }
        for (Lane lane : rail.lanes()) {
            missing.add(firstMissing(lane));
        }
        replayNext = missing.get(0);
        stage = Stage.REPLAYING;
    }

    /** Number of the first request that was not executed. */
    private long firstMissing(Lane lane) {
        long found = lane.inFlight().retired();
        for (long n = found; n < lane.inFlight().posted(); n++) {
            SendQueue.Request posted = lane.inFlight().get(n);
            Region counted = posted.counted;
            if (counted != null) {
                int offset = (int) (posted.word - memory.remoteOf(counted));
                if (words.get(toRead.indexOf(counted))[offset / Long.BYTES] >= posted.after) {
                    found = n + 1;
                }
            }
        }
        return found;
    }

    private void replay() {
        while (replayLane < rail.lanes().size()) {
            Lane lane = rail.lane(replayLane);
            Lane via = roomy();
            if (via == null) {
                return;
            }
            if (replayNext < lane.inFlight().posted()) {
                SendQueue.Request again = lane.inFlight().get(replayNext++);
                // A failover that was reading reads again.
                if (again.opcode != SendQueue.READ) {
                    via.traffic().replay();
                    queue.append(via, again);
                }
            } else {
                replayLane++;
                if (replayLane < rail.lanes().size()) {
                    replayNext = missing.get(replayLane);
                }
                lane.inFlight().retire(lane.inFlight().posted());
                close(via, lane);
            }
            if (!via.alive()) {
                // What it held is moved on by a failover of its own, which goes first.
                return;
            }
        }
        stage = Stage.DONE;
    }

    /** From here on the lane passes every fence. */
    private void close(Lane via, Lane lane) {
        Region control = memory.control();
        long word = memory.remote(memory.words().lane(lane.index()));
        queue.append(
                via,
                atomics
                        ? request.add(control, word, Words.CLOSED, Words.CLOSED, control, memory.scratch())
                        : request.immediate(control, word, Immediate.lane(lane.index(), true), Words.CLOSED));
    }

    private @Nullable Lane roomy() {
        Lane lane = home.get();
        return lane != null && lane.hasRoom() ? lane : null;
    }

    @Override
    public String toString() {
        return "a failover at stage " + stage + rail.causes();
    }
}
