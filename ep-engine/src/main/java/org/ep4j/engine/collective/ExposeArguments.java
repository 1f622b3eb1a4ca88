package org.ep4j.engine.collective;

import java.util.Optional;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;

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
    public static void checkAllocated(String backend, long bytes, Optional<DeviceMemory> memory) {
        checkSize(bytes);
        if (memory.isPresent()) {
            throw new EpArgumentException(
                    "memory", memory.get(), "empty", backend + " allocates by itself; pass Optional.empty()");
        }
    }

    /**
     * For a backend that registers host memory of others.
     *
     * @param backend its id
     * @throws EpArgumentException with the value and the limit
     */
    public static void checkRegistered(String backend, long bytes, Optional<DeviceMemory> memory) {
        checkSize(bytes);
        if (memory.isEmpty() || memory.get().byteSize() != bytes) {
            throw new EpArgumentException(
                    "memory",
                    memory.isEmpty() ? "empty" : memory.get(),
                    bytes + " bytes",
                    backend + " registers memory that was allocated elsewhere; pass all of it");
        }
        if (!memory.get().device().type().equals("host")) {
            throw new EpArgumentException(
                    "memory",
                    memory.get(),
                    "host memory",
                    "this version of " + backend + " sends from host memory; stage what is on a GPU");
        }
    }

    private static void checkSize(long bytes) {
        if (bytes <= 0 || bytes % PAGE != 0) {
            throw new EpArgumentException(
                    "bytes", bytes, "a positive multiple of " + PAGE, "round the size up to whole pages");
        }
    }
}
