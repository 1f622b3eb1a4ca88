package org.ep4j.engine.proxy;

import java.lang.invoke.VarHandle;
import java.nio.LongBuffer;
import java.util.BitSet;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.transport.memory.HostMemory;

/**
 * A ring of commands in memory of the host that a GPU writes, as the host sees it. It holds the number of commands that were
 * taken since the start (the tail: 64 bits, on cache lines of its own), then the commands. Producers take a number from a
 * counter of their own (the head), wait until the tail shows that the place is free, store word 0, and then word 1 with
 * release order; the lap's phase in word 1 tells the one consumer that the command is there, so nobody clears places.
 *
 * <p>One thread takes; {@code fifo.cu} produces.
 */
public final class CommandRing {
    public static final int MIN_COMMANDS = 2;
    public static final int MAX_COMMANDS = 1 << 20;

    public static final int TAIL = 0;

    /** Where commands begin. Processors fetch lines of 64 bytes in pairs. */
    public static final int COMMANDS = 128;

    private final HostMemory memory;

    /** The commands once more, two words each. */
    private final LongBuffer places;

    private final long tailAt;
    private final long commandsAt;
    private final int mask;
    private final int shift;

    private long taken;
    /** Peers for which a command has failed. Used by the thread that takes. */
    private final BitSet failed = new BitSet();

    /**
     * Over zeroed memory.
     *
     * @param offset where the ring begins in it, a multiple of 128 in address too
     * @param commands how many the ring holds, a power of two
     */
    public CommandRing(HostMemory memory, long offset, int commands) {
        checkCommands(commands);
        if (offset < 0 || offset % Command.BYTES != 0 || offset > memory.size() - bytes(commands)) {
            throw new EpArgumentException(
                    "offset",
                    offset,
                    "a multiple of " + Command.BYTES + " from 0 to " + (memory.size() - bytes(commands)),
                    "give the ring " + bytes(commands) + " bytes inside the memory");
        }
        this.memory = memory;
        this.places = memory.slice(offset + COMMANDS, commands * Command.BYTES).asLongBuffer();
        this.tailAt = offset + TAIL;
        this.commandsAt = offset + COMMANDS;
        this.mask = commands - 1;
        this.shift = Integer.numberOfTrailingZeros(commands);
    }

    private static void checkCommands(int commands) {
        if (commands < MIN_COMMANDS || commands > MAX_COMMANDS || Integer.bitCount(commands) != 1) {
            throw new EpArgumentException(
                    "commands",
                    commands,
                    "a power of two from " + MIN_COMMANDS + " to " + MAX_COMMANDS,
                    "set ep.proxy.ring-commands to such a number");
        }
    }

    /** Bytes of a ring, a multiple of 128. */
    public static long bytes(int commands) {
        checkCommands(commands);
        return Math.max(2L * COMMANDS, COMMANDS + (long) commands * Command.BYTES);
    }

    public int commands() {
        return mask + 1;
    }

    /** Commands taken since the start, as producers see it. */
    public long tail() {
        return memory.getLongAcquire(tailAt);
    }

    /** Stores a command in the place of an index that is free, as kernels do in {@code fifo.cu}; for tests and benchmarks on the host. */
    public void put(long index, long word0, long word1) {
        long at = place(index);
        memory.putLong(at, word0);
        memory.putLongRelease(at + 8, word1 | phase(index));
    }

    private long place(long index) {
        return commandsAt + (index & mask) * Command.BYTES;
    }

    private long phase(long index) {
        return (~index >>> shift) << 63;
    }

    /**
     * Hands over the commands that are there, in order, and lets producers have their places. Once a command has failed, those for the
     * same peer are dropped.
     *
     * @param ring index that the sink is told
     * @param most that are handed over in this call
     * @return how many were
     */
    int take(int ring, int most, CommandSink sink, FailureListener failures) {
        long first = taken;
        int done = 0;
        int asked;
        int there;
        do {
            // No further than to the end of the lap: places follow each other and have one phase.
            int from = (int) (first + done) & mask;
            asked = Math.min(most - done, mask + 1 - from);
            there = there(from, asked, phase(first + done));
            for (int i = from; i < from + there; i++) {
                long word0 = places.get(2 * i);
                long word1 = places.get(2 * i + 1);
                int peer = Command.peer(word1);
                // A counter that follows a write which has failed must not say that the write is there.
                if (!failed.get(peer)) {
                    try {
                        hand(ring, word0, word1, sink);
                    } catch (Throwable e) {
                        failed.set(peer);
                        failures.failed(ring, peer, e);
                    }
                }
            }
            done += there;
        } while (there == asked && done < most);
        if (done != 0) {
            taken = first + done;
            memory.putLongRelease(tailAt, taken);
        }
        return done;
    }

    /**
     * How many of so many places are filled, counted from the first one. They are looked at before any command is handed over:
     * a GPU has written them, so they come from far, and come together where nothing is between the loads; but none behind the
     * first empty one, which the GPU is about to write. The loads are plain ones, since the compiler keeps nothing in
     * registers across an acquire or opaque load of a buffer, not even where the buffer lies. One fence orders all of them
     * before the loads of the words, as an acquire load of each would, and before those of the next look.
     */
    private int there(int from, int most, long phase) {
        int there = 0;
        while (there < most && (places.get(2 * (from + there) + 1) ^ phase) >= 0) {
            there++;
        }
        VarHandle.acquireFence();
        return there;
    }

    private static void hand(int ring, long word0, long word1, CommandSink sink) {
        long form = Command.form(word1);
        if (form == Command.WRITE_FORM) {
            sink.write(ring, Command.peer(word1), Command.target(word0), Command.source(word1), Command.bytes(word0));
        } else if (form == Command.ADVANCE_FORM) {
            sink.advance(ring, Command.peer(word1), Command.counter(word1), word0);
        } else {
            throw new EpException("ring " + ring + " holds the words 0x" + Long.toHexString(word0) + " and 0x"
                    + Long.toHexString(word1) + ", which are not a valid command (kind " + Command.kind(word1)
                    + ", valid kinds are "
                    + Command.WRITE + " and " + Command.ADVANCE
                    + "): something else writes into the ring; check the kernels for out-of-bounds stores");
        }
    }

    /** Commands that are there and not taken. */
    int left() {
        long first = tail();
        int left = 0;
        while (left <= mask && (memory.getLongAcquire(place(first + left) + 8) ^ phase(first + left)) >= 0) {
            left++;
        }
        return left;
    }

    /** Begins anew, empty. Called by the thread that takes, while nobody produces. */
    void restart() {
        memory.zero(commandsAt, (mask + 1L) * Command.BYTES);
        taken = 0;
        memory.putLongRelease(tailAt, 0);
    }
}
