package org.ep4j;

import java.time.Duration;
import java.util.Set;
import org.apiguardian.api.API;

/**
 * Memory and counters through which a group exchanges tokens, in both modes. All ranks call the operations in the same
 * order, with requests of the same kind, formats and precision, with or without weights alike, and with handles of the
 * same dispatch, or operations end with {@link EpMismatchException}.
 *
 * <p>Operations of one buffer run one after another. A call returns when its operation is done, unless
 * the {@link #options} are {@link OpOptions#asynchronous}. Arguments are checked before anything is sent. Safe for use from several
 * threads, but the order of calls must still be the same on all ranks.
 *
 * <p>An operation waits for other ranks at most {@link OpOptions#timeout(Duration)}, else {@code ep.timeout}. On a GPU the call
 * may take longer: it waits as long for earlier calls, and for what it queued up to twice that and 5 s. It throws {@link EpArgumentException} (nothing was sent), {@link EpStateException} (the mode was left
 * out, buffer or handle is closed, or the thread was interrupted), {@link EpMismatchException}, {@link
 * EpTimeoutException} and {@link EpPeerLostException}; a high-throughput dispatch also {@link EpOverflowException}, and operations
 * on a GPU also {@link EpResourceException}, see {@link EpShape.Builder#preallocate}.
 * The call itself, also an asynchronous one, throws what is known before anything is sent, such as a wrong shape or a closed
 * buffer. {@link EpEvent#await} of the event throws what fails later, wrong expert ids on a GPU among it, and so do accessors
 * that wait for the event; on a GPU also the buffer's next operation if nobody awaited it.
 *
 * <p>Other ranks read and write part of a buffer's memory. No tensor of a request may lie there, except the {@code x} of a combine, see
 * {@link #combineInput()}. A tensor that an operation writes may not overlap another one of the same request, except the {@code out} of a
 * combine that is one of its biases. The memory of all tensors must stay allocated until the operation has ended; on the host, memory that
 * is closed while the operation runs stays until then.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface EpBuffer extends AutoCloseable {
    /** Group whose ranks exchange tokens through this buffer. */
    EpGroup group();

    /** Shape with which this buffer was created. */
    EpShape shape();

    /** Assignment of experts to ranks that this buffer uses. */
    ExpertPlacement placement();

    /** Memory that the buffer uses on this rank, and multiprocessors that its operations use now. */
    BufferSize size();

    /** How operations of this view run; {@link OpOptions#DEFAULT} for what {@link EpGroup#createBuffer} returns. */
    OpOptions options();

    /**
     * Returns a view of this buffer whose operations run with {@code options}. It is cheap and immutable; make it once. All
     * views are the same buffer: operations of all of them run one after another, what one masks is masked for all, and
     * closing any closes the buffer. Two views are equal if they are of the same buffer and have equal options.
     */
    EpBuffer withOptions(OpOptions options);

    /**
     * Most rows that a high-throughput dispatch can deliver to this rank: the first dimension of an {@code out} for the worst
     * case.
     *
     * @param expertAlignment of the dispatch, 1 to {@link EpShape#MAX_EXPERT_ALIGNMENT}; only the by-expert layout is
     *     padded to it
     * @throws EpArgumentException when the alignment is out of range, or the shape leaves the layout out
     * @throws EpStateException when the shape leaves high throughput out
     */
    long maxRows(RowLayout layout, int expertAlignment);

    /**
     * Rows of each local expert in what a low-latency dispatch delivers: {@code R * maxLowLatencyTokens}.
     *
     * @throws EpStateException when the shape leaves low latency out
     */
    long maxLowLatencyRows();

    /**
     * Counts the tokens that would go to each rank, host and expert. Local: nothing is sent.
     *
     * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    DispatchLayout dispatchLayout(Tensor topkIds);

    /** Dispatches tokens in high throughput, by rank, sized by what arrives; see {@link DispatchRequest#builder(Tensor, Tensor)}. */
    default DispatchResult dispatch(Tensor x, Tensor topkIds) {
        return dispatch(DispatchRequest.builder(x, topkIds).build());
    }

    /** Dispatches along the routes of an earlier dispatch; see {@link DispatchRequest#builder(Tensor, DispatchHandle)}. */
    default DispatchResult dispatch(Tensor x, DispatchHandle routing) {
        return dispatch(DispatchRequest.builder(x, routing).build());
    }

    /**
     * Dispatches in high throughput: sends every token once to every rank that holds one of its experts. Collective. A combine
     * may follow on all ranks, or on none.
     */
    DispatchResult dispatch(DispatchRequest request);

    /** Combines in high throughput with an exact, unweighted sum; see {@link CombineRequest#builder}. */
    default CombineResult combine(Tensor x, DispatchHandle handle) {
        return combine(CombineRequest.builder(x, handle).build());
    }

    /** Combines in high throughput: brings rows back to the ranks of their tokens and sums them. Collective. */
    CombineResult combine(CombineRequest request);

    /** Dispatches BF16 rows in low latency; see {@link LowLatencyDispatchRequest#builder}. */
    default LowLatencyDispatchResult lowLatencyDispatch(Tensor x, Tensor topkIds) {
        return lowLatencyDispatch(LowLatencyDispatchRequest.builder(x, topkIds).build());
    }

    /** Dispatches in low latency: sends every token to the experts' ranks and packs it by expert there. Collective. */
    LowLatencyDispatchResult lowLatencyDispatch(LowLatencyDispatchRequest request);

    /** Combines BF16 rows in low latency with an exact, weighted sum; see {@link LowLatencyCombineRequest#builder}. */
    default CombineResult lowLatencyCombine(Tensor x, LowLatencyHandle handle, Tensor topkWeights) {
        return lowLatencyCombine(LowLatencyCombineRequest.builder(x, handle)
                .topkWeights(topkWeights)
                .build());
    }

    /** Combines in low latency: brings expert outputs back to the ranks of their tokens and sums them. Collective. */
    CombineResult lowLatencyCombine(LowLatencyCombineRequest request);

    /**
     * Memory that a high-throughput {@link #combine(CombineRequest)} of the by-rank layout reads in place: expert outputs
     * written here need no copy on the way out, and do not overwrite the dispatched rows. The dispatched rows
     * themselves ({@link DispatchResult#x()} of a by-rank BF16 dispatch) are read in place too. A by-expert combine
     * uses this memory itself, so its input must lie elsewhere. Write here only between operations.
     *
     * @return {@code [rows that can be received, H]} BF16
     * @throws EpStateException when the shape leaves high throughput out
     */
    Tensor combineInput();

    /**
     * Memory from which the next {@link #lowLatencyCombine(LowLatencyCombineRequest)} sends without a copy on the way
     * out; pass it as that request's {@code x}. There are two, taken in turn.
     *
     * @return {@code [L, R * maxLowLatencyTokens, H]} BF16
     */
    Tensor nextLowLatencyCombineInput();

    /**
     * Ranks that operations leave out: selections of the experts of these ranks count as -1, and these ranks send
     * nothing.
     */
    Set<Integer> maskedRanks();

    /**
     * Masks a rank, so that operations from the next one on leave it out. All other ranks must do the same before their
     * next operation.
     *
     * <p>If an operation that this rank began did not complete and the buffer can recover, this call is a {@link
     * #recover} without {@code rank}: collective over the other ranks, with {@code ep.timeout}, and {@link
     * #clearMasks} cannot undo it. Otherwise the call is local, and the masked rank must begin no operation.
     *
     * @throws EpArgumentException when {@code rank} is this one or not a rank
     * @throws EpNoMajorityException as {@link #recover}
     * @throws EpTimeoutException when another rank does not take part, or an earlier call does not end
     * @throws EpPeerLostException naming this rank when the others go on without it
     * @throws EpStateException when the rank may still write to this rank's memory, and the buffer cannot move into
     *     other memory
     * @throws EpUnavailableException with {@link EpException.Recourse#RECOVER} when another rank failed meanwhile
     */
    void mask(int rank);

    /**
     * Unmasks all ranks, so that operations include them again. Collective over all ranks, also those that were masked;
     * needs rank 0. If it fails, the masks of this rank stay, unless its last step fails, a barrier after all ranks
     * have agreed: then they are cleared.
     *
     * @param timeout longest wait in each step; on a GPU, queued operations are awaited first, for up to twice that and 5 s
     * @throws EpPeerLostException with {@link EpException.Recourse#FIX_CALL} when a masked rank is dead, cannot be
     *     reached, or has no part in the buffer's memory since a recovery: operations go on with the mask; with {@link
     *     EpException.Recourse#REJOIN} when another rank, such as rank 0, is lost or leaves
     * @throws EpTimeoutException when a rank does not take part, with {@link EpException.Recourse#REJOIN}
     */
    void clearMasks(Duration timeout);

    /**
     * Recovers after a failed operation: the survivors agree on the lost ranks, mask these ranks, and continue with
     * operation numbers that are equal on all survivors. Collective over the ranks that are alive and not masked.
     * Unfinished operations are discarded.
     *
     * <p>A rank that was only stopped for longer than the heartbeat timeout counts as lost by the others. The buffer <i>moves</i>: it
     * continues in fresh memory, which such a rank cannot reach when it continues. With the backends of ep4j that is possible if all ranks are in host memory, or all
     * on GPUs that are connected only by ipc-nvlink and rocm inside a host, ibrc-multiqp and efa, and whose ranks can open each other's
     * files on a host: in {@code /dev/shm}, the JVM's temporary folder, or the one that {@code ep.shm.dir} names for host-shm. The
     * ranks that continue must be more than half of those that took part until now and are not proved dead; a masked rank whose
     * process runs is counted among these, since it might continue with others. Nothing proves to ranks on one host that a rank on
     * another host is dead if no rank there is alive. Ask for {@link #combineInput} and
     * {@link #nextLowLatencyCombineInput} again afterwards, and record graphs again. Results of operations before can be read until the
     * next recovery.
     *
     * @param timeout longest wait in each step; on a GPU, queued operations are awaited first, for up to twice that and 5 s
     * @throws EpPeerLostException naming this rank when the others go on without it
     * @throws EpNoMajorityException when too few ranks would continue; this call may be repeated
     * @throws EpTimeoutException when a rank that is alive does not take part; this call may be repeated
     * @throws EpUnavailableException with {@link EpException.Recourse#REJOIN} when the buffer cannot move, with {@link
     *     EpException.Recourse#RECOVER} when another rank failed meanwhile
     */
    Recovery recover(Duration timeout);

    /**
     * Frees the buffer's memory on this rank; waits for an operation in flight on this rank (which has a timeout),
     * never for other ranks. A second call does nothing. Results and handles of the buffer are unusable afterwards. If
     * operations on a GPU are queued behind other work that does not end within 10 s, their memory stays, with a
     * warning in the log, until a later call or the end of the group.
     */
    @Override
    void close();
}
