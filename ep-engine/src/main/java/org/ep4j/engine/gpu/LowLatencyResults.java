package org.ep4j.engine.gpu;

import java.util.Optional;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.sync.Receipt;

/**
 * Results of low-latency operations that have been queued. No shape depends on what arrives, so accessors give tensors
 * without waiting, for work that goes on the same stream; with the hook only after {@code receive()}.
 */
final class LowLatencyResults {
    private LowLatencyResults() {}

    /** A dispatch. */
    record Dispatch(
            LowLatencyDispatch operation,
            org.ep4j.engine.gpu.LowLatency.Flow flow,
            long call,
            LowLatencyHandleImpl own,
            EpEvent end,
            Receipt receipt)
            implements LowLatencyDispatchResult {
        /** Bank of the results. */
        private int bank() {
            flow.validity().check(call);
            if (receipt.isHook()) {
                receipt.requireBegun("low-latency dispatch");
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
        public EpEvent receive() {
            return receive(Receipt.options(operation.options()));
        }

        @Override
        public EpEvent receive(OpOptions how) {
            receipt.take();
            return operation.receiveLater(how, own, receipt);
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
            return operation.countTensor(bank());
        }

        @Override
        public int[] countsOnHost() {
            bank();
            return operation.countsOnHost(own, event());
        }

        @Override
        public Tensor sourceTokens() {
            return operation.sourceTokenTensor(bank());
        }

        @Override
        public Tensor layoutRanges() {
            return operation.rangeTensor(bank());
        }
    }

    /** A combine. */
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
        public EpEvent receive() {
            return receive(Receipt.options(operation.options()));
        }

        @Override
        public EpEvent receive(OpOptions how) {
            receipt.take();
            return operation.receiveLater(how, receipt);
        }

        @Override
        public Tensor out() {
            flow.validity().check(call);
            if (receipt.isHook()) {
                receipt.requireBegun("low-latency combine");
            }
            return operation.outTensor((int) (call & 1));
        }
    }
}
