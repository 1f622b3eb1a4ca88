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
 * slot is written again as soon as the peer signals that it has checked it, so lost, late and repeated writes are found. For
 * one thread, except for the numbers of rounds, {@link #posted} and words.
 */
public final class WriteExchange implements AutoCloseable {
    private static final int SLOTS = 3;

    /** Counter of sent rounds. */
    private static final int SENT = 5;

    /** Counter of checked rounds. */
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

    /** Returns the buffer for other writes: all counters but 5 and 63 are free, and slots between rounds. */
    public HostPosted posted() {
        return posted;
    }

    /** Returns the backend, open on this rank. */
    public EpBackend backend() {
        return backend;
    }

    /** Returns the number of the peer's rounds that this rank has checked. */
    public long checkedRounds() {
        return checked;
    }

    /** Returns the number of rounds that this rank has sent. */
    public long sentRounds() {
        return sent;
    }

    /** Returns the traffic that the backend reports; empty if it reports none. */
    public List<EpTraffic> traffic() {
        return backend.traffic();
    }

    /**
     * Sends and checks until both sides have done the given number of rounds.
     *
     * @throws AssertionError when a byte is wrong, or there is no progress for longer than {@link TwoRanks#patience}
     */
    public void rounds(long until) {
        rounds(() -> until);
    }

    /** Sends and checks rounds until a number that may change meanwhile: the same for both ranks, and no less than the sent rounds. */
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

    /** Writes a word that contains its number to the offset of that number. Not during rounds, which use the same memory. */
    void writeWord(int number) {
        long source = (long) SLOTS * slotBytes + (long) Long.BYTES * number;
        memory.putLong(source, word(number));
        posted.put(peer, (long) Long.BYTES * number, source, Long.BYTES);
    }

    /** Checks a word that the peer wrote with {@link #writeWord}. */
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
        // A backend leaves out a value that is not above the last one.
        posted.signal(peer, SENT, round - 1);
    }

    /** Draws the bytes of a round: most are small, some fill the slot. */
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

    /** Closes the buffer and the backend. */
    @Override
    public void close() {
        buffer.close();
        backend.close();
        arena.close();
    }
}
