package org.ep4j;

import java.util.Map;
import java.util.Set;

/**
 * What the ranks agreed on in {@link EpBuffer#recover}. Equal on all survivors, unless an earlier call returned on some
 * of them only: the others count from an earlier operation, and the smallest number means the same operation on all.
 *
 * @param masked ranks that are left out now
 * @param completed operations that each survivor had completed since {@code recover} last returned on this rank (since the buffer was
 *     created, if it never did), by rank; if they differ, the ranks with more go back to the smallest
 */
public record Recovery(Set<Integer> masked, Map<Integer, Long> completed) {
    /** Copies the set and the map. */
    public Recovery {
        masked = Set.copyOf(masked);
        completed = Map.copyOf(completed);
    }
}
