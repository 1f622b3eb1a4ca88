package org.ep4j;

import java.util.Map;
import java.util.Set;

/**
 * What {@link EpBuffer#recover} agreed on. Equal on all survivors, unless an earlier call failed on some of them only: these also
 * count the operations before that call.
 *
 * @param masked ranks that are left out now
 * @param completed operations that each survivor had completed since the buffer was created or last recovered, by rank;
 *     where they differ, the ranks with more go back to the smallest
 */
public record Recovery(Set<Integer> masked, Map<Integer, Long> completed) {
    /** Copies both. */
    public Recovery {
        masked = Set.copyOf(masked);
        completed = Map.copyOf(completed);
    }
}
