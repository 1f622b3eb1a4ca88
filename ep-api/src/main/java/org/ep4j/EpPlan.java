package org.ep4j;

import java.util.List;

/**
 * The path from every rank to every rank, on which the ranks of a group have agreed when they joined. Immutable. Only ep4j
 * implements this interface; it may gain methods.
 */
public interface EpPlan {
    /** Number of ranks. */
    int ranks();

    /** How {@code from} reaches {@code to}; a rank reaches itself by {@link EpPath.Kind#LOCAL}. */
    EpPath path(int from, int to);

    /** Backends that some path uses, in alphabetical order, without {@code local}. */
    List<String> backends();

    /** Ranks that use a backend on some path to or from them, ascending. */
    List<Integer> ranksUsing(String backend);

    /** Index of the host of a rank: hosts are numbered from 0 in the order of their lowest rank. */
    int host(int rank);

    /** NIC ports that a rank was assigned, as {@code name:port}; empty when it uses no NIC. */
    List<String> nics(int rank);

    /**
     * Returns the plan as readable text: the ranks with their NICs, then groups of rank pairs with equal paths, each
     * group with the reasons why other backends were rejected. Notes of this rank may follow, such as the settings that
     * {@code ./ep tune} has measured for its buffers.
     */
    String explain();
}
