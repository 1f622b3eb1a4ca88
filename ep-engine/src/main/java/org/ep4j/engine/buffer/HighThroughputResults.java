package org.ep4j.engine.buffer;

import static org.ep4j.engine.layout.LocalLayout.HighThroughput.EXPANDED;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.EXPANDED_SCALES;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.EXPERT_OFFSETS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.ROWS_PER_EXPERT;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.ROWS_PER_SOURCE;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SCALES;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SOURCE_RANKS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SOURCE_TOKENS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.TOPK_IDS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.TOPK_WEIGHTS;

import java.util.Optional;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.LocalLayout.HighThroughput;
import org.ep4j.engine.sync.ReceiveHook;
import org.ep4j.engine.sync.Validity;
import org.ep4j.engine.sync.Waits;

/** Results of high-throughput operations. */
public final class HighThroughputResults {
    private HighThroughputResults() {}

    /** A dispatch as its result reads it. */
    public interface DispatchSource extends ResultSource {
        DispatchHandle handle();

        /** Type of the ids that were sent with the routing. */
        DataType idType();

        /** This rank's symmetric memory when the dispatch ran: its rows stay there when the buffer moves. */
        DeviceMemory symmetric();

        /** Selections of each local expert, rounded up to the alignment, once the counts are there. */
        int[] hostRowsPerExpert();
    }

    /**
     * A dispatch that is queued, or done. Accessors whose sizes depend on the counts wait for them; with worst-case sizes nothing
     * waits, so that work can be queued behind it on the same stream.
     *
     * @param worstRows most rows that could arrive
     * @param event end of the operation
     */
    public record Dispatch(
            DispatchSource source,
            Validity validity,
            BufferState state,
            DispatchRequest request,
            long worstRows,
            EpEvent event)
            implements DispatchResult {
        private boolean byExpert() {
            return request.layout() == RowLayout.BY_EXPERT;
        }

        private int topK() {
            return state.shape().topK();
        }

        /** Returns a tensor in the memory that the caller gave for it, or in the buffer. */
        private Tensor tensor(Optional<Tensor> given, HighThroughput region, DataType type, long... dims) {
            return given.isPresent() ? Tensor.of(given.get().memory(), type, dims) : state.tensor(region, type, dims);
        }

        private void awaitCounts() {
            event.await(Waits.LONGEST);
        }

        @Override
        public DispatchHandle handle() {
            source.await();
            return source.handle();
        }

        @Override
        public long rows() {
            source.check(validity);
            if (request.worstCase()) {
                return worstRows;
            }
            awaitCounts();
            return source.handle().rows();
        }

        @Override
        public Tensor x() {
            long rows = rows();
            DataType type = request.x().type();
            int hidden = state.shape().hidden();
            if (request.out().isPresent()) {
                return Tensor.of(request.out().get().memory(), type, rows, hidden);
            }
            return byExpert()
                    ? state.tensor(EXPANDED, type, rows, hidden)
                    : BufferState.tensor(
                            source.symmetric(), state.symmetricLayout().rows(), type, rows, hidden);
        }

        @Override
        public Optional<Tensor> scales() {
            long rows = rows();
            return request.scales().isPresent()
                    ? Optional.of(tensor(
                            request.outScales(),
                            byExpert() ? EXPANDED_SCALES : SCALES,
                            DataType.FP32,
                            rows,
                            state.shape().scales()))
                    : Optional.empty();
        }

        @Override
        public Optional<Tensor> topkIds() {
            long rows = rows();
            return byExpert()
                    ? Optional.empty()
                    : Optional.of(tensor(request.outTopkIds(), TOPK_IDS, source.idType(), rows, topK()));
        }

        @Override
        public Optional<Tensor> topkWeights() {
            long rows = rows();
            if (request.topkWeights().isEmpty()) {
                return Optional.empty();
            }
            return Optional.of(
                    byExpert()
                            ? tensor(request.outTopkWeights(), TOPK_WEIGHTS, DataType.FP32, rows)
                            : tensor(request.outTopkWeights(), TOPK_WEIGHTS, DataType.FP32, rows, topK()));
        }

        @Override
        public Tensor sourceRanks() {
            return tensor(request.outSourceRanks(), SOURCE_RANKS, DataType.INT32, rows());
        }

        @Override
        public Tensor sourceTokens() {
            return tensor(request.outSourceTokens(), SOURCE_TOKENS, DataType.INT32, rows());
        }

        @Override
        public Tensor rowsPerSource() {
            source.check(validity);
            return tensor(request.outRowsPerSource(), ROWS_PER_SOURCE, DataType.INT32, state.ranks());
        }

        @Override
        public Tensor rowsPerExpert() {
            source.check(validity);
            return tensor(request.outRowsPerExpert(), ROWS_PER_EXPERT, DataType.INT32, state.localExperts());
        }

        @Override
        public Tensor expertOffsets() {
            source.check(validity);
            return tensor(request.outExpertOffsets(), EXPERT_OFFSETS, DataType.INT64, state.localExperts() + 1L);
        }

        @Override
        public int[] hostRowsPerExpert() {
            source.check(validity);
            awaitCounts();
            return source.hostRowsPerExpert();
        }
    }

    /** A combine that is queued, or done; {@code event} is its end. */
    public record Combine(
            ResultSource source, Validity validity, Tensor outTensor, Optional<Tensor> weightsTensor, EpEvent event)
            implements CombineResult {
        @Override
        public void receive() {
            throw ReceiveHook.notRequested();
        }

        @Override
        public Tensor out() {
            source.check(validity);
            return outTensor;
        }

        @Override
        public Optional<Tensor> weights() {
            source.check(validity);
            return weightsTensor;
        }
    }
}
