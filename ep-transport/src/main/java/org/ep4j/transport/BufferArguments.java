package org.ep4j.transport;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.ep4j.EpArgumentException;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;

/** Refusals of wrong arguments, before a buffer is made or a counted write is posted, in the same words on every backend. */
public final class BufferArguments {
    /** Smallest page of memory; sizes are multiples of it on every backend. */
    private static final long PAGE = 4096;

    private BufferArguments() {}

    /**
     * Refuses a buffer of a backend that allocates memory.
     *
     * @param backend its id
     * @param purposes as {@link AllocatesMemory#purposes}
     * @throws EpArgumentException with the value and the limit
     */
    public static void checkAllocated(String backend, long bytes, Purpose purpose, Set<Purpose> purposes) {
        checkSize(bytes);
        if (!purposes.contains(purpose)) {
            throw new EpArgumentException(
                    "purpose", purpose, "one of " + purposes, backend + " allocates memory for these alone");
        }
    }

    /**
     * Refuses a buffer of a backend that registers memory of others.
     *
     * @param refusal as {@link RegistersMemory#refusal}, for memory of GPUs
     * @throws EpArgumentException with the value and the limit
     */
    public static void checkRegistered(ExposedMemory memory, Function<ExposedMemory.Kind, Optional<String>> refusal) {
        checkSize(memory.memory().byteSize());
        ExposedMemory.Kind kind = memory.kind();
        Optional<String> refused = kind == ExposedMemory.Kind.HOST ? Optional.empty() : refusal.apply(kind);
        if (refused.isPresent()) {
            throw new EpArgumentException(
                    "memory",
                    memory.memory() + " as " + kind,
                    "memory that the NICs of the backend can register",
                    refused.get() + "; pass memory of the host");
        }
    }

    /**
     * Refuses a range that is not inside a buffer.
     *
     * @param what the range is, for the message
     * @param size bytes of the buffer
     * @throws IllegalArgumentException with the range and the size
     */
    public static void checkRange(String what, long offset, long bytes, long size, SymmetricBuffer buffer) {
        if (offset < 0 || bytes < 0 || offset > size - bytes) {
            throw new IllegalArgumentException(what + " [" + offset + ", " + offset + " + " + bytes
                    + ") is not inside [0, " + size + ") of " + buffer);
        }
    }

    /**
     * Refuses the number of a counter that there is not.
     *
     * @throws IllegalArgumentException with the number and the limit
     */
    public static void checkCounter(int counter) {
        if (counter < 0 || counter >= HostPosted.COUNTERS) {
            throw new IllegalArgumentException(
                    "counter is " + counter + ", must be from 0 to " + (HostPosted.COUNTERS - 1));
        }
    }

    /**
     * Returns the link to a peer.
     *
     * @param links by rank of the peer
     * @param rank this one
     * @throws IllegalArgumentException naming the peers that there are
     */
    public static <T> T link(Map<Integer, T> links, int peer, int rank, String backend) {
        T link = links.get(peer);
        if (link == null) {
            throw new IllegalArgumentException("rank " + peer + " is not connected to rank " + rank + " by " + backend
                    + ", which connects rank " + rank + " to "
                    + links.keySet().stream().sorted().map(String::valueOf).collect(Collectors.joining(", ")));
        }
        return link;
    }

    private static void checkSize(long bytes) {
        if (bytes <= 0 || bytes % PAGE != 0) {
            throw new EpArgumentException(
                    "bytes", bytes, "a positive multiple of " + PAGE, "round the size up to whole pages");
        }
    }
}
