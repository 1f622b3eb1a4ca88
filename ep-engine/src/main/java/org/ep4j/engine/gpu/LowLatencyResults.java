package org.ep4j.engine.gpu;

import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.LocalLayout.LowLatency;
import org.ep4j.engine.sync.Receipt;

/**
 * Results of low-latency operations that have been queued. No shape depends on what arrives, so accessors give tensors
 * without waiting, for work that goes on the same stream; with the hook only after {@code receive()}.
 */
final class LowLatencyResults {
    private LowLatencyResults() {}

    record Dispatch(
            LowLatencyDispatch operation,
            org.ep4j.engine.gpu.LowLatency.Flow flow,
            long call,
            LowLatencyHandleImpl own,
            EpEvent end,
            Receipt receipt)
            implements LowLatencyDispatchResult {
        private int bank() {
            flow.validity().check(call);
            if (receipt.isHook()) {
                receipt.requireDone("low-latency dispatch");
            }
            return (int) (call & 1);
        }

        @Override
        public LowLatencyHandle handle() {
            return own;
        }

        @Override
        public EpEvent event() {
            return receipt.isHook() ? receipt.event() : end;
        }

        @Override
        public void receive() {
            receipt.take();
            operation.receiveLater(own, receipt);
        }

        @Override
        public Tensor x() {
            return operation.rowTensor(bank());
        }

        @Override
        public Optional<Tensor> scales() {
            return operation.scaleTensor(bank());
        }

        @Override
        public Tensor counts() {
            return operation.tensor(bank(), LowLatency.COUNTS, DataType.INT32);
        }

        @Override
        public Tensor sourceTokens() {
            return operation.tensor(bank(), LowLatency.SOURCE_TOKENS, DataType.INT32, operation.rows());
        }

        @Override
        public Tensor layoutRanges() {
            return operation.tensor(bank(), LowLatency.RANGES, DataType.INT64, operation.ranks());
        }
    }

    record Combine(
            LowLatencyCombine operation,
            org.ep4j.engine.gpu.LowLatency.Flow flow,
            long call,
            EpEvent end,
            Receipt receipt)
            implements LowLatencyCombineResult {
        @Override
        public EpEvent event() {
            return receipt.isHook() ? receipt.event() : end;
        }

        @Override
        public void receive() {
            receipt.take();
            operation.receiveLater(receipt);
        }

        @Override
        public Tensor out() {
            flow.validity().check(call);
            if (receipt.isHook()) {
                receipt.requireDone("low-latency combine");
            }
            return operation.outTensor((int) (call & 1));
        }
    }
}
