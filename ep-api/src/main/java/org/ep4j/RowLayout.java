package org.ep4j;

/**
 * Order of the rows that a high-throughput dispatch delivers. Constants may be added: keep a {@code default} where you
 * switch over them.
 */
public enum RowLayout {
    /** One row for each (token, rank), ordered by source rank, then source token. */
    BY_RANK,
    /**
     * One row for each (token, selection of a local expert), grouped by local expert, inside an expert ordered by source
     * rank, source token, place in the top-k list. Every group starts at a multiple of the expert alignment.
     */
    BY_EXPERT
}
