package org.ep4j;

import java.time.Duration;
import java.util.Set;

/**
 * Memory and counters through which a group exchanges tokens, in both modes. All ranks call the operations in the same
 * order with the same options; a rank that calls another one is told ({@link EpMismatchException}).
 *
 * <p>Operations of one buffer run one after another. A call returns when its operation is done, unless
 * {@link OpOptions#async()} asks for an event. Arguments are checked before anything is sent. Safe for use from several
 * threads, but the order of calls must still be the same on all ranks.
 *
 * <p>Training, high throughput: the backward of a combine is a dispatch of the gradients with the forward's handle
 * ({@link DispatchRequest#cached}), with all options of a forward dispatch, in BF16 or in FP8 with scales, whatever the forward's rows
 * were. The backward of a dispatch is a combine with that handle, with all options of a forward combine: it sums the BF16 gradients of a
 * token's copies and brings those of its weights back ({@link CombineRequest#weights}).
 */
public interface EpBuffer extends AutoCloseable {
    /** The group. */
    EpGroup group();

    /** The sizes. */
    EpShape shape();

    /** The placement in use. */
    ExpertPlacement placement();

    /** What the buffer takes. */
    BufferSize size();

    /**
     * Counts where tokens would go. Local: nothing is sent.
     *
     * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none
     */
    DispatchLayout layout(Tensor topkIds);

    /** High throughput: sends every token once to every rank that holds one of its experts. Collective. */
    DispatchResult dispatch(DispatchRequest request);

    /** High throughput: brings rows back to the ranks of their tokens and sums them. Collective. */
    CombineResult combine(CombineRequest request);

    /** Low latency: sends every token to the experts' ranks and packs it by expert there. Collective. */
    LowLatencyDispatchResult dispatch(LowLatencyDispatchRequest request);

    /** Low latency: brings expert outputs back to the ranks of their tokens and sums them. Collective. */
    LowLatencyCombineResult combine(LowLatencyCombineRequest request);

    /**
     * Memory that a high-throughput {@link #combine(CombineRequest)} of the by-rank layout reads in place: expert outputs
     * written here need no copy on the way out, and the dispatched rows stay as they are. The dispatched rows themselves
     * ({@link DispatchResult#x()} of a by-rank BF16 dispatch) are read in place too. A by-expert combine uses this memory
     * itself, so its input must lie elsewhere. Write here only between operations.
     *
     * @return {@code [rows that can be received, H]} BF16
     * @throws EpStateException when the shape leaves high throughput out
     */
    Tensor combineInput();

    /**
     * Memory from which the next low-latency {@link #combine(LowLatencyCombineRequest)} sends without a copy on the way
     * out; pass it as that request's {@code x}. There are two, taken in turn.
     *
     * @return {@code [L, R * maxLowLatencyTokens, H]} BF16
     */
    Tensor lowLatencyCombineInput();

    /** Ranks that are left out: their selections count as -1, and they send nothing. */
    Set<Integer> maskedRanks();

    /**
     * Leaves a rank out from the next operation on. All other ranks do the same before their next operation.
     *
     * <p>A rank that has not said that it is done with the operations before may still write for them, or read rows in place. One that
     * posts is cut off then, from this buffer and others of the group; where the backend cannot do that (NVSHMEM), the next dispatch ends with
     * {@link EpUnavailableException}. One that maps memory cannot be cut off: with the next dispatch, or
     * with a combine that follows another combine, all ranks that are not masked agree on the masks, and where such a rank is among them and is not proved to be gone, the buffer
     * moves to fresh memory of the same size that it has never mapped. Tensors that lie in symmetric memory ({@link #combineInput},
     * rows of a by-rank dispatch) and graphs that were recorded are void then; the combine that moved ends with {@link EpStateException}. Which ranks are left out is the caller's decision: unlike
     * {@link #recover}, masks need no majority. {@link #clearMask} cannot take back a rank that was left behind or cut off; it finds that out before it returns a result ({@link EpPeerLostException} that names it).
     *
     * @throws EpArgumentException when {@code rank} is this one or not a rank
     */
    void mask(int rank);

    /**
     * Takes all ranks back in. Collective over all ranks, also those that were masked. When it fails, masks stay as they are.
     *
     * @throws EpPeerLostException when a masked rank is dead, or was cut off by {@link #mask} or {@link #recover}
     */
    void clearMask(Duration deadline);

    /**
     * Aligns the survivors after an operation failed: they agree on the lost ranks, mask them, and number their next
     * operations alike. Collective over the ranks that are alive and not masked; no single rank is needed for it. Unfinished operations
     * are void.
     *
     * <p>The survivors go on when they are more than half of the last agreed members, or half of them with the lowest rank, or when all
     * others are proved to be gone (their process has ended on a host of a survivor, or they left in good order). So two parts that hold
     * each other lost never both go on. Buffers of one group are recovered one after the other, in the same order on all ranks.
     *
     * <p>A lost rank may live: it was stopped, swapped out or cut off. Where it maps memory of survivors and is not proved to be gone, the
     * buffer moves to fresh memory of the same size, as with {@link #mask}; one that posts is cut off, where the backend can do that. When it comes back, its calls end
     * with {@link EpPeerLostException} that names it, before they return a result.
     *
     * @throws EpPeerLostException naming this rank when the others go on without it, or these survivors may not go on
     * @throws EpTimeoutException when a rank that is alive does not take part
     * @throws EpResourceException when a machine has too little memory to move; nothing of the old memory was used again
     * @throws EpUnavailableException when a backend cannot make memory without the lost ranks (NVSHMEM) and would have to
     */
    Recovery recover(Duration deadline);

    /**
     * Frees the memory; waits for an operation in flight on this rank (which has a deadline), never for other ranks. A
     * second call does nothing. Results and handles of the buffer are unusable afterwards.
     */
    @Override
    void close();
}
