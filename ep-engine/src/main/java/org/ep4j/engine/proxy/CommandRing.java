package org.ep4j.engine.proxy;

import java.lang.invoke.VarHandle;
import java.nio.LongBuffer;
import java.util.BitSet;
import java.util.function.ObjIntConsumer;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.transport.memory.HostMemory;

/**
 * Ring of commands in host memory, which a GPU writes ({@code fifo.cu}) and one thread reads. It holds the number of commands that were
 * taken since the start (the tail: 64 bits, on cache lines of its own), then the commands. Producers take a number from a
 * counter of their own (the head), wait until the tail shows that the place is free, store word 0, and then word 1 with
 * release order; the lap's phase in word 1 shows the consumer that the place is filled, so places are never cleared.
 */
public final class CommandRing {
    public static final int MIN_COMMANDS = 2;
    public static final int MAX_COMMANDS = 1 << 20;

    public static final int TAIL = 0;

    /** Offset of the commands. CPUs fetch lines of 64 bytes in pairs. */
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
     * Creates a ring over zeroed memory.
     *
     * @param offset of the ring; a multiple of 128, in address too
     * @param commands capacity, a power of two
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
     * Executes the next commands in order, and gives their places back to producers. Once a command has failed, those for the
     * same peer are dropped.
     *
     * @param ring index for the sink
     * @param most limit of commands in this call
     * @param failures gets what the sink throws, and the peer
     * @return number of commands taken
     */
    int take(int ring, int most, CommandSink sink, ObjIntConsumer<Throwable> failures) {
        long first = taken;
        int done = 0;
        int asked;
        int filled;
        do {
            // No further than to the end of the lap: places follow each other and have one phase.
            int from = (int) (first + done) & mask;
            asked = Math.min(most - done, mask + 1 - from);
            filled = countFilled(from, asked, phase(first + done));
            for (int i = from; i < from + filled; i++) {
                long word0 = places.get(2 * i);
                long word1 = places.get(2 * i + 1);
                int peer = Command.peer(word1);
                // A counter that follows a write which has failed must not say that the write is there.
                if (!failed.get(peer)) {
                    try {
                        execute(ring, word0, word1, sink);
                    } catch (Throwable e) {
                        failed.set(peer);
                        failures.accept(e, peer);
                    }
                }
            }
            done += filled;
        } while (filled == asked && done < most);
        if (done != 0) {
            taken = first + done;
            memory.putLongRelease(tailAt, taken);
        }
        return done;
    }

    /**
     * Counts the filled places from {@code from} on, before any command is executed: a GPU has written them, so each load misses the caches,
     * and the misses overlap if nothing is between the loads. Does not read beyond the first empty place, which the GPU is about to write. The
     * loads are plain, since the compiler keeps nothing in registers across an acquire or opaque load of a buffer, not even the buffer's
     * address. One fence orders all of them before the loads of the words, as an acquire load of each would, and before those of the
     * next call.
     */
    private int countFilled(int from, int most, long phase) {
        int filled = 0;
        while (filled < most && (places.get(2 * (from + filled) + 1) ^ phase) >= 0) {
            filled++;
        }
        VarHandle.acquireFence();
        return filled;
    }

    private static void execute(int ring, long word0, long word1, CommandSink sink) {
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

    /** Returns the number of commands that are not taken yet. */
    int left() {
        long first = tail();
        int left = 0;
        while (left <= mask && (memory.getLongAcquire(place(first + left) + 8) ^ phase(first + left)) >= 0) {
            left++;
        }
        return left;
    }

    /** Empties the ring and starts its first lap. Called by the thread that takes, while no producer runs. */
    void restart() {
        memory.zero(commandsAt, (mask + 1L) * Command.BYTES);
        taken = 0;
        memory.putLongRelease(tailAt, 0);
    }

    /** Executes commands. Calls for the commands of one ring come from one thread, in the order of the ring. */
    public interface CommandSink {
        /**
         * Executes a write.
         *
         * @param ring index of the ring that it came through
         * @param target offset in the peer's memory, bytes
         * @param source offset in this rank's memory, bytes
         */
        void write(int ring, int peer, long target, long source, long bytes);

        /** Ends a counted write: after all earlier writes to {@code peer}, its counter becomes {@code value}. */
        void advance(int ring, int peer, int counter, long value);
    }
}
