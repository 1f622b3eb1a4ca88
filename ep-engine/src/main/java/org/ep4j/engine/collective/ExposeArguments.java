package org.ep4j.engine.collective;

import java.util.Optional;
import java.util.function.Function;
import org.ep4j.EpArgumentException;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.RegistersDeviceMemory;

/** What a backend refuses before it exposes a buffer, in the same words everywhere. */
public final class ExposeArguments {
    /** Smallest page of memory; sizes are multiples of it on every backend. */
    private static final long PAGE = 4096;

    private ExposeArguments() {}

    /**
     * For a backend that allocates by itself.
     *
     * @param backend its id
     * @throws EpArgumentException with the value and the limit
     */
    public static void checkAllocated(String backend, long bytes, Optional<ExposedMemory> memory) {
        checkSize(bytes);
        if (memory.isPresent()) {
            throw new EpArgumentException(
                    "memory", memory.get().memory(), "empty", backend + " allocates by itself; pass Optional.empty()");
        }
    }

    /**
     * For a backend that registers memory of others.
     *
     * @param backend its id
     * @param refusal as {@link RegistersDeviceMemory#refusal}, for memory of GPUs
     * @throws EpArgumentException with the value and the limit
     */
    public static void checkRegistered(
            String backend,
            long bytes,
            Optional<ExposedMemory> memory,
            Function<ExposedMemory.Kind, Optional<String>> refusal) {
        checkSize(bytes);
        if (memory.isEmpty() || memory.get().memory().byteSize() != bytes) {
            throw new EpArgumentException(
                    "memory",
                    memory.isEmpty() ? "empty" : memory.get().memory(),
                    bytes + " bytes",
                    backend + " registers memory that the caller allocates; pass memory of exactly this size");
        }
        ExposedMemory.Kind kind = memory.get().kind();
        Optional<String> refused = kind == ExposedMemory.Kind.HOST ? Optional.empty() : refusal.apply(kind);
        if (refused.isPresent()) {
            throw new EpArgumentException(
                    "memory",
                    memory.get().memory() + " as " + kind,
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
