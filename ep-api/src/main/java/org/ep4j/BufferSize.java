package org.ep4j;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * Memory of one buffer on one rank, in bytes.
 *
 * @param symmetric memory that peers reach: shared memory, registered memory
 * @param parts memory of this rank alone: the most that each part takes; parts that the shape leaves out are missing
 */
public record BufferSize(long symmetric, Map<BufferPart, Long> parts) {
    /** Copies the map. */
    public BufferSize {
        EnumMap<BufferPart, Long> all = new EnumMap<>(BufferPart.class);
        parts.forEach((part, bytes) -> {
            if (bytes > 0) {
                all.put(part, bytes);
            }
        });
        parts = Collections.unmodifiableMap(all);
    }

    /** The most that memory of this rank alone takes. */
    public long local() {
        return parts.values().stream().mapToLong(Long::longValue).sum();
    }
}
