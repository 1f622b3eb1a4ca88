package org.ep4j.backend.host;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpConfig;
import org.ep4j.EpPeerLostException;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.Deadline;

/** A rank in a process of its own; what it does is the last argument. It says what it found, and ends with 0. */
final class RankMain {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private static final int BYTES = 1 << 16;
    private static final int SLOTS = 16;
    private static final int SLOT_LONGS = 64;
    private static final int ROUNDS = 200_000;

    /** Offsets of the two counters, on cache lines of their own. */
    private static final int SENT = SLOTS * SLOT_LONGS * 8;

    private static final int TAKEN = SENT + 128;

    private final int rank;
    private final int ranks;
    private final EpConfig config;
    private final Path folder;
    private final PipeBootstrap bootstrap;

    private RankMain(String[] args) {
        this.rank = Integer.parseInt(args[0]);
        this.ranks = Integer.parseInt(args[1]);
        this.folder = Path.of(args[2]);
        this.config = TestRanks.config(folder);
        this.bootstrap = new PipeBootstrap(rank, ranks);
    }

    public static void main(String[] args) throws InterruptedException {
        RankMain main = new RankMain(args);
        switch (args[3]) {
            case "exchange" -> main.exchange();
            case "litmus" -> main.litmus();
            case "hold" -> main.hold();
            default -> throw new IllegalArgumentException(args[3]);
        }
    }

    private EpBackend open() {
        return new HostShmProvider().open(TestRanks.context(TestRanks.plan(ranks, config), bootstrap, config));
    }

    /** Writes a value of its own into every rank's memory, and checks the values of all ranks in its own. */
    private void exchange() {
        try (EpBackend backend = open();
                SymmetricBuffer buffer = TestRanks.expose(backend, "b", BYTES)) {
            bootstrap.barrier("exposed", TestRanks.DEADLINE);
            for (int peer = 0; peer < ranks; peer++) {
                TestRanks.view(TestRanks.peers(buffer).peer(peer)).putLong(8 * rank, 1000L * rank + peer);
            }
            bootstrap.barrier("written", TestRanks.DEADLINE);
            int right = 0;
            for (int from = 0; from < ranks; from++) {
                right += TestRanks.view(buffer.local()).getLong(8 * from) == 1000L * from + rank ? 1 : 0;
            }
            bootstrap.say("right " + right);
        } catch (EpPeerLostException e) {
            bootstrap.say("lost " + e.failure().peer() + " mapped " + TestRanks.mappedFrom(folder) + " descriptors "
                    + TestRanks.descriptorsInto(folder));
        }
    }

    /**
     * Both ranks send to each other at once: plain stores of a slot, then a release store of the counter. Whoever sees the
     * counter with an acquire load must see the slot.
     */
    private void litmus() {
        try (EpBackend backend = open();
                SymmetricBuffer buffer = TestRanks.expose(backend, "b", BYTES)) {
            ByteBuffer mine = TestRanks.view(buffer.local());
            ByteBuffer peer = TestRanks.view(TestRanks.peers(buffer).peer(1 - rank));
            long sent = 0;
            long taken = 0;
            long wrong = 0;
            long end = System.nanoTime() + TestRanks.DEADLINE.toNanos();
            while ((sent < ROUNDS || taken < ROUNDS) && System.nanoTime() - end < 0) {
                boolean moved = false;
                if (sent < ROUNDS && sent - (long) LONGS.getAcquire(mine, TAKEN) < SLOTS) {
                    write(peer, sent);
                    sent++;
                    LONGS.setRelease(peer, SENT, sent);
                    moved = true;
                }
                if ((long) LONGS.getAcquire(mine, SENT) > taken) {
                    wrong += wrong(mine, taken);
                    taken++;
                    LONGS.setRelease(peer, TAKEN, taken);
                    moved = true;
                }
                if (moved) {
                    end = System.nanoTime() + TestRanks.DEADLINE.toNanos();
                } else {
                    // Two ranks may share one core; without a pause each round would take a time slice, and where
                    // others want the core, too, a yield as much as all of theirs.
                    LockSupport.parkNanos(1_000);
                }
            }
            bootstrap.say("taken " + taken + " wrong " + wrong);
            bootstrap.barrier("done", TestRanks.DEADLINE);
        }
    }

    private static void write(ByteBuffer memory, long round) {
        int slot = (int) (round % SLOTS) * SLOT_LONGS * 8;
        for (int i = 0; i < SLOT_LONGS; i++) {
            memory.putLong(slot + 8 * i, round * SLOT_LONGS + i + 1);
        }
    }

    private static int wrong(ByteBuffer memory, long round) {
        int slot = (int) (round % SLOTS) * SLOT_LONGS * 8;
        int wrong = 0;
        for (int i = 0; i < SLOT_LONGS; i++) {
            wrong += memory.getLong(slot + 8 * i) == round * SLOT_LONGS + i + 1 ? 0 : 1;
        }
        return wrong;
    }

    /** Makes a file as expose does, and is killed before it can remove the name. */
    private void hold() throws InterruptedException {
        SharedFile file = SharedFile.create(Libc.load(), new ShmFolder(folder), BYTES, Deadline.in(TestRanks.DEADLINE));
        bootstrap.say("made");
        Thread.sleep(Long.MAX_VALUE);
        file.removeName();
    }
}
