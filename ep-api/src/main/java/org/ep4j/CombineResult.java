package org.ep4j;

import java.util.Optional;

/**
 * What a combine delivered. Tensors not given as {@code out} are valid until the next combine of the same mode begins on
 * the buffer; every accessor throws {@link EpStateException} after that. In host memory, accessors wait for the event; in
 * GPU memory they return at once, and a reader orders its work after the event.
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
