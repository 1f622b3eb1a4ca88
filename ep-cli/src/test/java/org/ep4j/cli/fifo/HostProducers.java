package org.ep4j.cli.fifo;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.proxy.Command;
import org.ep4j.engine.proxy.CommandProducer;
import org.ep4j.transport.memory.WordMemory;

/** Threads of this process in the place of a GPU. */
final class HostProducers implements Producers {
    private static final long LONGEST_NANOS = 20_000_000_000L;

    private final Room room;
    private final int each;
    private List<CommandProducer> rings = List.of();
    private long pings;

    HostProducers(int rings, int commands, int each) {
        WordMemory memory = WordMemory.allocate(Room.bytes(rings, commands));
        this.room = new Room(memory.words(), memory.address(), rings, commands);
        this.each = each;
    }

    @Override
    public Room room() {
        return room;
    }

    @Override
    public int each() {
        return each;
    }

    @Override
    public String name() {
        return "host threads instead of a GPU";
    }

    @Override
    public void clear() {
        room.clear();
        List<CommandProducer> all = new ArrayList<>();
        for (int i = 0; i < room.rings(); i++) {
            all.add(new CommandProducer(room.ring(i)));
        }
        rings = all;
    }

    @Override
    public long fill(int count, long commands) {
        // One thread goes round all rings: there are seldom processors for one each.
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < each; t++) {
            int thread = t;
            threads.add(new Thread(() -> fill(thread, count, commands), "ep-fifo-producer-" + t));
        }
        long start = System.nanoTime();
        threads.forEach(Thread::start);
        threads.forEach(HostProducers::join);
        return start;
    }

    private void fill(int thread, int count, long commands) {
        for (long i = 0; i < commands; i++) {
            for (int ring = 0; ring < count; ring++) {
                long number = ((long) ring * each + thread) * commands + i;
                put(rings.get(ring), Pattern.word0(number), Pattern.word1(number));
            }
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // there may be fewer processors than threads
    private static void put(CommandProducer ring, long word0, long word1) {
        if (ring.offer(word0, word1)) {
            return;
        }
        long start = System.nanoTime();
        int tries = 0;
        while (!ring.offer(word0, word1)) {
            Thread.onSpinWait();
            if (++tries % 256 == 0) {
                Thread.yield();
                check(start);
            }
        }
    }

    private static void check(long start) {
        if (System.nanoTime() - start > LONGEST_NANOS) {
            throw new EpTimeoutException(
                    "no proxy thread has taken a command within 20 s",
                    EpFailure.builder("commands", -1).expected(1).build());
        }
    }

    private static void join(Thread thread) {
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    @SuppressWarnings("ThreadPriorityCheck") // there may be fewer processors than threads
    public long[] ping(int count) {
        long[] samples = new long[count];
        long word1 = Command.advanceWord1(0, Pattern.PING_COUNTER);
        for (int i = 0; i < count; i++) {
            pings++;
            long start = System.nanoTime();
            put(rings.get(0), pings, word1);
            int tries = 0;
            while (room.memory().getLongAcquire(Room.ANSWER) < pings) {
                Thread.onSpinWait();
                if (++tries % 1024 == 0) {
                    check(start);
                    Thread.yield();
                }
            }
            samples[i] = System.nanoTime() - start;
        }
        return samples;
    }

    @Override
    public void close() {
        // Nothing but memory.
    }
}
