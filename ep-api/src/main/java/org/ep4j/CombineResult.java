package org.ep4j;

import java.util.Optional;

/**
 * What a combine delivered. Tensors not given as {@code out} are valid until the next combine of the same mode begins on
 * the buffer. After that all accessors but {@link #event} throw {@link EpStateException}. Host: accessors wait for the
 * event. GPU: they return at once; order work that reads a tensor after the event.
 */
public interface CombineResult {
    /** Event that completes when the tensors of this result may be read. */
    EpEvent event();

    /** Combined rows, {@code [T, H]} BF16. */
    Tensor out();

    /**
     * Weight of each selection, {@code [T, K]} FP32: 0 if the expert id is -1 or the expert's rank is masked. Empty if
     * the request had no weights.
     */
    Optional<Tensor> weights();
}
