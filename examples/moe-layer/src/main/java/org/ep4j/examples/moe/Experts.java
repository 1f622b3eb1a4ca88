package org.ep4j.examples.moe;

import org.ep4j.DispatchResult;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;

/** The experts of one rank. */
interface Experts extends AutoCloseable {
    /**
     * Applies each local expert to its rows.
     *
     * @param arrived rows grouped by expert, with the weight of each
     * @return {@code [rows, H]}, weighted
     */
    Tensor apply(DispatchResult arrived);

    /**
     * Applies each local expert to its rows.
     *
     * @param arrived rows packed by expert
     * @param out {@code [L, rows of an expert, H]}
     * @return {@code out}, with the expert's row in the place of every row, not weighted
     */
    Tensor apply(LowLatencyDispatchResult arrived, Tensor out);

    @Override
    void close();
}
