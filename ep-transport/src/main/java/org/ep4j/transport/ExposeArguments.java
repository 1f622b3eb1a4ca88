package org.ep4j.transport;

import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.ep4j.EpArgumentException;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.RegistersMemory;

/** What a backend refuses before it makes a buffer, in the same words everywhere. */
public final class ExposeArguments {
    /** Smallest page of memory; sizes are multiples of it on every backend. */
    private static final long PAGE = 4096;

    private ExposeArguments() {}

    /**
     * For a backend that allocates by itself.
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
     * For a backend that registers memory of others.
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

    private static void checkSize(long bytes) {
        if (bytes <= 0 || bytes % PAGE != 0) {
            throw new EpArgumentException(
                    "bytes", bytes, "a positive multiple of " + PAGE, "round the size up to whole pages");
        }
    }
}
