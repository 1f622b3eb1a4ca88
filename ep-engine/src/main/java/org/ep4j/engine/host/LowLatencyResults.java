package org.ep4j.engine.host;

import static org.ep4j.engine.layout.LocalLayout.LowLatency.COUNTS;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.RANGES;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.SOURCE_TOKENS;

import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Tensor;
import org.ep4j.engine.sync.Receipt;
import org.ep4j.engine.sync.Validity;

/** Results of low-latency operations that have been sent. */
final class LowLatencyResults {
    private LowLatencyResults() {}

    /** Runs the receiving half in turn with the buffer's other operations. */
    interface Receive {
        void run(Receipt receipt);
    }

    record Dispatch(
            LowLatencyDispatch operation,
            Validity validity,
            LowLatencyHandleImpl own,
            Receipt receipt,
            Receive receiving)
            implements LowLatencyDispatchResult {
        private long check() {
            validity.check(own.number());
            receipt.requireDone("low-latency dispatch");
            return own.number();
        }

        @Override
        public LowLatencyHandle handle() {
            return own;
        }

        @Override
        public EpEvent event() {
            return receipt.event();
        }

        @Override
        public void receive() {
            receipt.take();
            receiving.run(receipt);
        }

        @Override
        public Tensor x() {
            return operation.rowTensor(check());
        }

        @Override
        public Optional<Tensor> scales() {
            return operation.scaleTensor(check());
        }

        @Override
        public Tensor counts() {
            return operation.tensor(
                    check(), COUNTS, DataType.INT32, operation.state().localExperts());
        }

        @Override
        public Tensor sourceTokens() {
            return operation.tensor(
                    check(), SOURCE_TOKENS, DataType.INT32, operation.state().localExperts(), operation.expertRows());
        }

        @Override
        public Tensor layoutRanges() {
            return operation.tensor(
                    check(),
                    RANGES,
                    DataType.INT64,
                    operation.state().localExperts(),
                    operation.state().ranks());
        }
    }

    record Combine(LowLatencyCombine operation, Validity validity, long number, Receipt receipt, Receive receiving)
            implements LowLatencyCombineResult {
        @Override
        public EpEvent event() {
            return receipt.event();
        }

        @Override
        public void receive() {
            receipt.take();
            receiving.run(receipt);
        }

        @Override
        public Tensor out() {
            validity.check(number);
            receipt.requireDone("low-latency combine");
            return operation.outTensor(number);
        }
    }
}
