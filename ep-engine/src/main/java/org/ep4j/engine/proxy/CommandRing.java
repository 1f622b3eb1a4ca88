package org.ep4j.engine.proxy;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.engine.memory.HostMemory;

/**
 * A ring of commands in memory of the host that a GPU writes, as the host sees it. It holds the number of commands that were
 * taken since the start (the tail: 64 bits, on cache lines of its own), then the commands. Producers take a number from a
 * counter of their own (the head), wait until the tail shows that the place is free, store word 0, and then word 1 with
 * release order; the lap's phase in word 1 tells the one consumer that the command is there, so nobody clears places.
 *
 * <p>One thread takes; {@link CommandProducer} and {@code fifo.cu} produce.
 */
public final class CommandRing {
    /** Fewest commands of a ring. */
    public static final int MIN_COMMANDS = 2;

    /** Most commands of a ring. */
    public static final int MAX_COMMANDS = 1 << 20;

    /** Where the tail lies. */
    public static final int TAIL = 0;

    /** Where commands begin. Processors fetch lines of 64 bytes in pairs. */
    public static final int COMMANDS = 128;

    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final HostMemory memory;

    /** The commands once more: one check of bounds for each access. */
    private final ByteBuffer places;

    private final long tailAt;
    private final long commandsAt;
    private final int mask;
    private final int shift;

    /** Commands taken. */
    private long taken;

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
        this.places = memory.slice(offset + COMMANDS, commands * Command.BYTES);
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

    /** How many commands it holds. */
    public int commands() {
        return mask + 1;
    }

    /** Commands taken since the start, as producers see it. */
    public long tail() {
        return memory.getLongAcquire(tailAt);
    }

    /** Stores a command in the place of an index that is free. */
    void put(long index, long word0, long word1) {
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
     * Hands over the commands that are there, in order, and lets producers have their places.
     *
     * @param ring index that the sink is told
     * @param most that are handed over in this call
     * @return how many were
     */
    int take(int ring, int most, CommandSink sink, FailureListener failures) {
        ByteBuffer buffer = places;
        int last = mask;
        long first = taken;
        long index = first;
        long end = first + most;
        while (index < end) {
            int at = ((int) index & last) * Command.BYTES;
            long word1 = (long) LONG.getAcquire(buffer, at + 8);
            if ((word1 ^ phase(index)) < 0) {
                break;
            }
            long word0 = (long) LONG.get(buffer, at);
            try {
                hand(ring, word0, word1, sink);
            } catch (Throwable e) {
                failures.failed(ring, Command.peer(word1), e);
            }
            index++;
        }
        if (index != first) {
            taken = index;
            memory.putLongRelease(tailAt, index);
        }
        return (int) (index - first);
    }

    private static void hand(int ring, long word0, long word1, CommandSink sink) {
        long form = Command.form(word1);
        if (form == Command.WRITE_FORM) {
            sink.write(ring, Command.peer(word1), Command.target(word0), Command.source(word1), Command.bytes(word0));
        } else if (form == Command.ADVANCE_FORM) {
            sink.advance(ring, Command.peer(word1), Command.counter(word1), word0);
        } else {
            throw new EpException("ring " + ring + " holds the words 0x" + Long.toHexString(word0) + " and 0x"
                    + Long.toHexString(word1) + ", which are no command (kind " + Command.kind(word1) + ", known are "
                    + Command.WRITE + " and " + Command.ADVANCE
                    + "): something else writes into the ring; look for stores outside of the bounds of a kernel");
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
