package org.ep4j.engine.host;

import java.util.Optional;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.sync.Validity;

/** Results of low-latency operations that have been sent. */
final class LowLatencyResults {
    private LowLatencyResults() {}

    /** A dispatch. */
    record Dispatch(LowLatencyDispatch operation, Validity validity, LowLatencyHandleImpl own, Receiving receiving)
            implements LowLatencyDispatchResult {
        private long check() {
            validity.check(own.number());
            receiving.await("low-latency dispatch");
            return own.number();
        }

        @Override
        public LowLatencyHandle handle() {
            return own;
        }

        @Override
        public EpEvent event() {
            return receiving.receipt().event();
        }

        @Override
        public EpEvent receive() {
            return receiving.receive(receiving.usual());
        }

        @Override
        public EpEvent receive(OpOptions how) {
            return receiving.receive(how);
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
            return operation.countTensor(check());
        }

        @Override
        public int[] countsOnHost() {
            check();
            return operation.countsOnHost();
        }

        @Override
        public Tensor sourceTokens() {
            return operation.sourceTokenTensor(check());
        }

        @Override
        public Tensor layoutRanges() {
            return operation.rangeTensor(check());
        }
    }

    /** A combine. */
    record Combine(LowLatencyCombine operation, Validity validity, long number, Receiving receiving)
            implements LowLatencyCombineResult {
        @Override
        public EpEvent event() {
            return receiving.receipt().event();
        }

        @Override
        public EpEvent receive() {
            return receiving.receive(receiving.usual());
        }

        @Override
        public EpEvent receive(OpOptions how) {
            return receiving.receive(how);
        }

        @Override
        public Tensor out() {
            validity.check(number);
            receiving.await("low-latency combine");
            return operation.outTensor(number);
        }
    }
}
