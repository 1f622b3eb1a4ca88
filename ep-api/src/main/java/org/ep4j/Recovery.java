package org.ep4j;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apiguardian.api.API;

/**
 * Result of {@link EpBuffer#recover}. To continue at the same operation, a rank undoes and repeats its operations
 * beyond {@link #rollbackTo}. If an earlier recover returned on some ranks only, the numbers differ between ranks, but
 * {@link #rollbackTo} still names the same operation on all. Immutable.
 */
public sealed interface Recovery {
    /**
     * Creates the result of a recovery.
     *
     * @param masked ranks that are left out now
     * @param completed operations that each survivor had completed, by rank
     * @throws EpArgumentException when there is no survivor
     */
    @API(status = API.Status.INTERNAL, since = "0.1")
    static Recovery of(Set<Integer> masked, Map<Integer, Long> completed) {
        if (completed.isEmpty()) {
            throw new EpArgumentException("completed", completed, "of one rank at least", "name every survivor");
        }
        return new RecoveryValue(Collections.unmodifiableSet(new TreeSet<>(masked)), new TreeMap<>(completed));
    }

    /** Ranks that are left out now. */
    Set<Integer> masked();

    /**
     * Operations that a survivor had completed since {@link EpBuffer#recover} last returned on this rank (since the buffer
     * was created, if it never did).
     *
     * @throws EpArgumentException when the rank is no survivor
     */
    long completed(int rank);

    /** Operations that all survivors had completed: the smallest of their numbers. */
    long rollbackTo();
}

record RecoveryValue(Set<Integer> masked, Map<Integer, Long> completed) implements Recovery {
    @Override
    public long completed(int rank) {
        Long operations = completed.get(rank);
        if (operations == null) {
            throw new EpArgumentException(
                    "rank", rank, "one of the survivors " + completed.keySet(), "leave out the masked ranks");
        }
        return operations;
    }

    @Override
    public long rollbackTo() {
        return Collections.min(completed.values());
    }

    @Override
    public String toString() {
        return "Recovery[masked=" + masked + ", completed=" + completed + "]";
    }
}
