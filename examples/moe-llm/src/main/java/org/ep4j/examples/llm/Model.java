package org.ep4j.examples.llm;

import java.util.List;
import java.util.Optional;
import org.ep4j.EpBuffer;

/** The layers of a model on one rank, with keys and values of its sequences. Calls are collective where experts are spread. */
interface Model extends AutoCloseable {
    /** Computes many tokens; returns the logits after each slice that ends its prompt. */
    List<float[]> prefill(List<Slice> slices);

    /** Computes one token of each slice, in batches whose exchanges take turns; returns the logits after each. */
    List<float[]> decode(List<List<Slice>> batches);

    /** The buffer over which exchanges run, where there are any. */
    Optional<EpBuffer> buffer();

    /** Keeps the matrix products of the next step, to run them alone later. */
    default void keepProducts() {}

    /** Runs the kept products alone; false where none are kept. */
    default boolean runProducts() {
        return false;
    }

    @Override
    void close();
}
