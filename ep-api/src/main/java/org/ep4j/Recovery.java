package org.ep4j;

import java.util.Map;
import java.util.Set;

/**
 * Result of {@link EpBuffer#recover}. To continue at the same operation, a rank undoes and repeats its operations
 * beyond the smallest value of {@code completed}. If an earlier recover returned on some ranks only, the numbers
 * differ between ranks, but the smallest still names the same operation on all.
 *
 * @param masked ranks that are left out now
 * @param completed operations that each survivor had completed since {@code recover} last returned on this rank (since the buffer was
 *     created, if it never did), by rank
 */
public record Recovery(Set<Integer> masked, Map<Integer, Long> completed) {
    /** Copies the set and the map. */
    public Recovery {
        masked = Set.copyOf(masked);
        completed = Map.copyOf(completed);
    }
}
