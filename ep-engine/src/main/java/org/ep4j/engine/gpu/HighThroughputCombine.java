package org.ep4j.engine.gpu;

import static org.ep4j.engine.layout.LocalLayout.HighThroughput.COMBINED;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.COMBINED_WEIGHTS;

import java.util.List;
import java.util.Optional;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.EngineHandle;
import org.ep4j.engine.buffer.HighThroughputResults;
import org.ep4j.engine.buffer.ResultSource;
import org.ep4j.engine.gpu.HighThroughput.Handle;
import org.ep4j.engine.gpu.KernelSizes.RowPieces;
import org.ep4j.engine.gpu.Operations.Queue;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout.Part;

/**
 * One high-throughput combine. The token's rank reads one row for each (token, rank) in the other rank's
 * memory, and reduces it in the same pass. In the exact by-expert form, the row of every selection is first sent to its slot on the
 * token's rank. See {@code ht_combine.cu}.
 */
final class HighThroughputCombine implements ResultSource {
    private static final long WEIGHTS_FLAG = 1;

    /** Codes of what the ranks agree on, see {@link org.ep4j.engine.sync.Announcements}. */
    private static final long KIND_ROWS = 3;

    private static final long KIND_SELECTIONS = 4;

    private final HighThroughput mode;
    private final GpuState state;
    private final BufferLayout layout;
    private final CombineRequest request;
    /** Kept for as long as the result, since the kernels read it. */
    private final Handle handle;

    private final int topK;
    private final boolean partial;
    private final boolean selections;
    private final DeviceMemory symmetric;
    private final long input;
    private long number;

    HighThroughputCombine(HighThroughput mode, CombineRequest request) {
        this.mode = mode;
        this.state = mode.state;
        this.layout = state.symmetricLayout();
        this.request = request;
        handle = EngineHandle.own(request.handle(), Handle.class, mode);
        topK = state.shape().topK();
        selections = handle.byExpert() && request.precision() == CombinePrecision.EXACT;
        partial = handle.byExpert() && !selections;
        symmetric = state.symmetric();
        state.checks().combine(request, handle, handle.alignment(), symmetric, layout);
        input = selections ? 0 : inPlace() ? offset() : layout.combineArea();
    }

    @Override
    public long number() {
        return number;
    }

    /** Offset of x in this rank's symmetric memory, if it lies there. */
    private long offset() {
        return request.x().address() - symmetric.address();
    }

    /** Returns whether other ranks can read x in place. */
    private boolean inPlace() {
        if (handle.byExpert()) {
            return false;
        }
        long bytes = Math.min(request.x().byteSize(), layout.combineInputBytes());
        return inside(bytes, layout.rows(), layout.rowsBytes())
                || inside(bytes, layout.combineArea(), layout.combineInputBytes());
    }

    private boolean inside(long bytes, long start, long length) {
        return offset() >= start && offset() + bytes <= start + length;
    }

    CombineResult run(Queue queue, EpEvent event) {
        // Compared by owner: after two recoveries other memory may have the same address.
        if (!symmetric.owner().equals(state.symmetric().owner())) {
            throw new EpStateException("the buffer recovered while combine was called; call combine again");
        }
        if (request.out().isEmpty()) {
            state.results().take(Part.COMBINED);
        }
        if (request.weights().isPresent() && request.outWeights().isEmpty()) {
            state.results().take(Part.RECORDS);
        }
        handle.usedBy(queue);
        number = mode.beginCombine();
        Tensor out = request.out()
                .orElseGet(() -> state.tensor(
                        COMBINED, DataType.BF16, handle.tokens(), state.shape().hidden()));
        Optional<Tensor> weights = request.weights()
                .map(w -> request.outWeights()
                        .orElseGet(() -> state.tensor(COMBINED_WEIGHTS, DataType.FP32, handle.tokens(), topK)));
        Arguments arguments = queue.arguments()
                .set(Param.KIND, selections ? KIND_SELECTIONS : KIND_ROWS)
                .set(Param.FLAGS, request.weights().isPresent() ? WEIGHTS_FLAG : 0)
                .set(Param.TOKENS, handle.tokens())
                .set(Param.X, request.x().address())
                .set(Param.HANDLE, handle.routing().address())
                .set(Param.BY_EXPERT, handle.byExpert())
                .set(Param.PARTIAL, partial)
                .set(Param.INPUT, input)
                .set(Param.OUT, out.address());
        request.weights().ifPresent(w -> arguments.set(Param.WEIGHTS, w.address()));
        weights.ifPresent(w -> arguments.set(Param.OUT_WEIGHTS, w.address()));
        request.waitStats().ifPresent(s -> arguments.set(Param.WAIT_STATISTICS, s.address()));
        List<Tensor> bias = request.bias();
        if (!bias.isEmpty()) {
            arguments.set(Param.BIAS0, bias.get(0).address());
        }
        if (bias.size() > 1) {
            arguments.set(Param.BIAS1, bias.get(1).address());
        }
        boolean copied = !selections && (partial || offset() != input);
        if (copied || request.weights().isPresent()) {
            launch(queue, "ht_stage", partial ? sums(topK) : copies(), arguments);
        }
        if (selections) {
            launch(queue, "ht_selections", copies(), arguments);
        } else if (state.remotes()) {
            launch(queue, "ht_give", copies(), arguments);
        }
        int rows = (selections ? topK : Math.min(topK, state.ranks())) + bias.size();
        launch(queue, "ht_combine", sums(rows), arguments);
        return new HighThroughputResults.Combine(this, mode.combines, out, weights, event);
    }

    private void launch(Queue queue, String kernel, RowPieces pieces, Arguments arguments) {
        queue.launchOverlapping(
                kernel,
                queue.highThroughputBlocks(),
                pieces.warps() * state.device().info().warpSize(),
                pieces.sharedBytes(),
                arguments.set(Param.EXTRA, pieces.packed()));
    }

    private RowPieces sums(int rows) {
        return RowPieces.forSums(state.device(), (int) layout.rowBytes(), rows, state.ranks());
    }

    private RowPieces copies() {
        return RowPieces.forCopies(state.device(), (int) layout.rowBytes(), state.ranks());
    }
}
