package org.ep4j.examples.moe;

import org.ep4j.DispatchResult;
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

    @Override
    void close();
}
