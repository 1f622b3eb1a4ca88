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
@API(status = API.Status.STABLE, since = "0.1")
public final class Recovery {
    private final Set<Integer> masked;
    private final Map<Integer, Long> completed;

    private Recovery(Set<Integer> masked, Map<Integer, Long> completed) {
        this.masked = Collections.unmodifiableSet(new TreeSet<>(masked));
        this.completed = new TreeMap<>(completed);
    }

    /**
     * Creates the result of a recovery.
     *
     * @param masked ranks that are left out now
     * @param completed operations that each survivor had completed, by rank
     * @throws EpArgumentException when there is no survivor
     */
    @API(status = API.Status.INTERNAL, since = "0.1")
    public static Recovery of(Set<Integer> masked, Map<Integer, Long> completed) {
        if (completed.isEmpty()) {
            throw new EpArgumentException("completed", completed, "of one rank at least", "name every survivor");
        }
        return new Recovery(masked, completed);
    }

    /** Ranks that are left out now. */
    public Set<Integer> masked() {
        return masked;
    }

    /**
     * Operations that a survivor had completed since {@link EpBuffer#recover} last returned on this rank (since the buffer
     * was created, if it never did).
     *
     * @throws EpArgumentException when the rank is no survivor
     */
    public long completed(int rank) {
        Long operations = completed.get(rank);
        if (operations == null) {
            throw new EpArgumentException(
                    "rank", rank, "one of the survivors " + completed.keySet(), "leave out the masked ranks");
        }
        return operations;
    }

    /** Operations that all survivors had completed: the smallest of their numbers. */
    public long rollbackTo() {
        return Collections.min(completed.values());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Recovery r && r.masked.equals(masked) && r.completed.equals(completed);
    }

    @Override
    public int hashCode() {
        return 31 * masked.hashCode() + completed.hashCode();
    }

    @Override
    public String toString() {
        return "Recovery[masked=" + masked + ", completed=" + completed + "]";
    }
}
