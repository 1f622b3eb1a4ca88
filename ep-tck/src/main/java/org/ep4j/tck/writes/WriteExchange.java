package org.ep4j.tck.writes;

import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import org.ep4j.EpTraffic;
import org.ep4j.TensorArena;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.memory.HostMemory;

/**
 * One of two ranks that send each other rounds of random writes and check every byte. A round goes to one of a few slots, and a
 * slot is written again as soon as the peer says that it has looked at it: a write that is lost, late or repeated is found. For
 * one thread, but for the numbers of rounds.
 */
public final class WriteExchange implements AutoCloseable {
    private static final int SLOTS = 3;

    /** Counter of the rounds that were sent. */
    private static final int SENT = 5;

    /** Counter of the rounds that were checked. */
    private static final int CHECKED = 63;

    private final int rank;
    private final int peer;
    private final int slotBytes;
    private final int largest;
    private final EpBackend backend;
    private final TensorArena arena;
    private final SymmetricBuffer buffer;
    private final HostPosted posted;
    private final HostMemory memory;
    private final Duration patience;
    private volatile long sent;
    private volatile long checked;

    WriteExchange(EpBackendProvider provider, OpenContext context, int slotBytes, int largest, Duration patience) {
        this.rank = context.rank();
        this.peer = 1 - rank;
        this.slotBytes = slotBytes;
        this.largest = largest;
        this.patience = patience;
        this.backend = provider.open(context);
        long bytes = 2L * SLOTS * slotBytes;
        this.arena = context.device().arena();
        this.buffer = backend.as(RegistersMemory.class)
                .orElseThrow()
                .register("exchange", ExposedMemory.of(arena.memory(bytes)), patience);
        this.posted = buffer.as(HostPosted.class).orElseThrow();
        this.memory = HostMemory.of(buffer.local());
    }

    /** The buffer, for writes besides: counters but 5 and 63 are free, and slots between rounds. */
    public HostPosted posted() {
        return posted;
    }

    /** The backend, open on this rank. */
    public EpBackend backend() {
        return backend;
    }

    /** Rounds of the peer that this rank has checked. */
    public long checkedRounds() {
        return checked;
    }

    /** Rounds that this rank has sent. */
    public long sentRounds() {
        return sent;
    }

    /** What the backend says that it sent; nothing where it does not say it. */
    public List<EpTraffic> traffic() {
        return backend.traffic();
    }

    /**
     * Sends and checks until both sides have done so many rounds.
     *
     * @throws AssertionError when a byte is wrong, or nothing happens for longer than the ranks have patience
     */
    public void rounds(long until) {
        rounds(() -> until);
    }

    /** As above, with an end that is found on the way; the same for both, and not behind what was sent. */
    public void rounds(LongSupplier until) {
        long end = System.nanoTime() + patience.toNanos();
        long credit = posted.counter(CHECKED, peer);
        while (checked < until.getAsLong() || credit < until.getAsLong()) {
            boolean moved = false;
            credit = posted.counter(CHECKED, peer);
            if (sent < until.getAsLong() && sent - credit < SLOTS) {
                long round = sent + 1;
                send(round);
                sent = round;
                moved = true;
            }
            if (posted.counter(SENT, peer) > checked) {
                long round = checked + 1;
                check(round);
                checked = round;
                posted.signal(peer, CHECKED, round);
                moved = true;
            }
            if (!moved) {
                if (System.nanoTime() - end > 0) {
                    throw new AssertionError("rank " + rank + " makes no progress: it sent " + sent
                            + " rounds, of which the peer checked " + credit + ", and it checked " + checked
                            + " rounds of the peer; " + traffic());
                }
                Thread.onSpinWait();
            } else {
                end = System.nanoTime() + patience.toNanos();
            }
        }
        flush();
    }

    /** Writes a word that tells its number to the place of that number. Not beside rounds, whose slots these places are. */
    void writeWord(int number) {
        long source = (long) SLOTS * slotBytes + (long) Long.BYTES * number;
        memory.putLong(source, word(number));
        posted.put(peer, (long) Long.BYTES * number, source, Long.BYTES);
    }

    /** Looks whether such a word of the peer is at its place. */
    void checkWord(int number) {
        long found = memory.getLong((long) Long.BYTES * number);
        if (found != word(number)) {
            throw new AssertionError("rank " + rank + ", word " + number + ": found " + Long.toHexString(found));
        }
    }

    private void flush() {
        posted.flush(peer, System.nanoTime() + patience.toNanos());
    }

    private static long word(int number) {
        return 0x5eed_0000_0000L + number;
    }

    private static long seed(int from, long round) {
        return from * 1_000_003L + round * 31;
    }

    private long slot(long round) {
        return round % SLOTS * slotBytes;
    }

    private void send(long round) {
        if (round % SLOTS == 0) {
            flush();
        }
        long target = slot(round);
        long source = (long) SLOTS * slotBytes + target;
        SplittableRandom random = new SplittableRandom(seed(rank, round));
        int total = total(random);
        fill(source, total, random.nextLong());
        int done = 0;
        while (done < total) {
            int bytes = Math.min(total - done, 1 + random.nextInt(largest));
            if (random.nextBoolean()) {
                posted.put(peer, target + done, source + done, bytes);
            } else {
                posted.putMessage(peer, target + done, source + done, bytes);
            }
            done += bytes;
        }
        posted.signal(peer, SENT, round);
    }

    /** Most rounds are small, some fill the slot. */
    private int total(SplittableRandom random) {
        return random.nextInt(4) == 0 ? 8 * random.nextInt(slotBytes / 8) : 8 * random.nextInt(65);
    }

    private void fill(long offset, int bytes, long value) {
        for (int i = 0; i < bytes; i += 8) {
            memory.putLong(offset + i, value + i * 0x9E3779B97F4A7C15L);
        }
    }

    private void check(long round) {
        SplittableRandom random = new SplittableRandom(seed(peer, round));
        int total = total(random);
        long value = random.nextLong();
        for (int i = 0; i < total; i += 8) {
            long found = memory.getLong(slot(round) + i);
            if (found != value + i * 0x9E3779B97F4A7C15L) {
                throw new AssertionError(
                        "rank " + rank + ", round " + round + ": the word at byte " + i + " of " + total
                                + " is 0x" + Long.toHexString(found) + ", must be 0x"
                                + Long.toHexString(value + i * 0x9E3779B97F4A7C15L) + "; " + traffic());
            }
        }
    }

    /** Closes buffer and backend. */
    @Override
    public void close() {
        buffer.close();
        backend.close();
        arena.close();
    }
}
