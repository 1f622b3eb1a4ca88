package org.ep4j;

import java.util.Optional;

/**
 * What a combine delivered. Tensors not given as {@code out} are valid until the next combine of the same mode begins on
 * the buffer; every accessor throws {@link EpStateException} after that. In host memory, accessors wait for the event; in
 * GPU memory they return at once, and a reader orders its work after the event.
 */
public interface CombineResult {
    /** Event that completes when the contents may be read. */
    EpEvent event();

    /** Combined rows, {@code [T, H]} BF16. */
    Tensor out();

    /** {@code [T, K]} FP32 where weights were given: the weight of each selection, 0 where it is -1 or masked. */
    Optional<Tensor> weights();
}
