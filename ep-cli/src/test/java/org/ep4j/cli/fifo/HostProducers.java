package org.ep4j.cli.fifo;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.proxy.Command;
import org.ep4j.engine.proxy.CommandRing;
import org.ep4j.transport.memory.WordMemory;

/** Threads of this process in the place of a GPU. */
final class HostProducers implements Producers {
    private static final long LONGEST_NANOS = 20_000_000_000L;

    /** Puts commands into a ring that nothing was put into. */
    private static final class Producer {
        private final CommandRing ring;
        private final AtomicLong head = new AtomicLong();
        private volatile long tail;

        Producer(CommandRing ring) {
            this.ring = ring;
        }

        /** Puts the words of {@link Command}; false where the ring is full. */
        boolean offer(long word0, long word1) {
            while (true) {
                long index = head.get();
                if (index - tail >= ring.commands()) {
                    tail = ring.tail();
                    if (index - tail >= ring.commands()) {
                        return false;
                    }
                }
                if (head.compareAndSet(index, index + 1)) {
                    ring.put(index, word0, word1);
                    return true;
                }
            }
        }
    }

    private final RingMemory ringMemory;
    private final int each;
    private List<Producer> rings = List.of();
    private long pings;

    HostProducers(int rings, int commands, int each) {
        WordMemory memory = WordMemory.allocate(RingMemory.bytes(rings, commands));
        this.ringMemory = new RingMemory(memory.words(), memory.address(), rings, commands);
        this.each = each;
    }

    @Override
    public RingMemory ringMemory() {
        return ringMemory;
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
        ringMemory.clear();
        List<Producer> all = new ArrayList<>();
        for (int i = 0; i < ringMemory.rings(); i++) {
            all.add(new Producer(ringMemory.ring(i)));
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
    private static void put(Producer ring, long word0, long word1) {
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
                    "no proxy thread has consumed a command within 20 s",
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
        long word1 = Pattern.advanceWord1(0, Pattern.PING_COUNTER);
        for (int i = 0; i < count; i++) {
            pings++;
            long start = System.nanoTime();
            put(rings.get(0), pings, word1);
            int tries = 0;
            while (ringMemory.memory().getLongAcquire(RingMemory.ANSWER) < pings) {
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
