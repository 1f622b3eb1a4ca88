package org.ep4j.engine.host;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.ep4j.CombineResult;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;

/** Results of operations that run on the buffer's thread: every accessor waits for the operation. */
final class AsyncResults {
    private AsyncResults() {}

    /**
     * A result that comes later.
     *
     * @param event when it is there
     * @param value holds it then
     * @param timeout longest wait of an accessor
     * @param <T> its type
     */
    record Later<T>(EpEvent event, AtomicReference<T> value, Duration timeout) {
        T get() {
            event.await(timeout);
            return HostBuffer.present(value);
        }
    }

    /** A high-throughput dispatch. */
    record Dispatch(Later<DispatchResult> later) implements DispatchResult {
        @Override
        public DispatchHandle handle() {
            return later.get().handle();
        }

        @Override
        public EpEvent event() {
            return later.event();
        }

        @Override
        public long rows() {
            return later.get().rows();
        }

        @Override
        public Tensor x() {
            return later.get().x();
        }

        @Override
        public Optional<Tensor> scales() {
            return later.get().scales();
        }

        @Override
        public Optional<Tensor> topkIds() {
            return later.get().topkIds();
        }

        @Override
        public Optional<Tensor> topkWeights() {
            return later.get().topkWeights();
        }

        @Override
        public Tensor sourceRanks() {
            return later.get().sourceRanks();
        }

        @Override
        public Tensor sourceTokens() {
            return later.get().sourceTokens();
        }

        @Override
        public long droppedRows() {
            return later.get().droppedRows();
        }

        @Override
        public Tensor rowsPerSource() {
            return later.get().rowsPerSource();
        }

        @Override
        public Tensor rowsPerExpert() {
            return later.get().rowsPerExpert();
        }

        @Override
        public Tensor expertOffsets() {
            return later.get().expertOffsets();
        }

        @Override
        public int[] tokensPerExpert() {
            return later.get().tokensPerExpert();
        }
    }

    /** A high-throughput combine. */
    record Combine(Later<CombineResult> later) implements CombineResult {
        @Override
        public EpEvent event() {
            return later.event();
        }

        @Override
        public Tensor out() {
            return later.get().out();
        }

        @Override
        public Optional<Tensor> weights() {
            return later.get().weights();
        }
    }

    /** A low-latency dispatch. */
    record LowLatencyDispatched(Later<LowLatencyDispatchResult> later, Receiving receiving)
            implements LowLatencyDispatchResult {
        @Override
        public LowLatencyHandle handle() {
            return later.get().handle();
        }

        @Override
        public EpEvent event() {
            return receiving.receipt().isHook() ? receiving.receipt().event() : later.event();
        }

        @Override
        public EpEvent receive() {
            return receive(receiving.usual());
        }

        @Override
        public EpEvent receive(OpOptions how) {
            return receiving.receive(how.after(later.event()));
        }

        @Override
        public Tensor x() {
            return later.get().x();
        }

        @Override
        public Optional<Tensor> scales() {
            return later.get().scales();
        }

        @Override
        public Tensor counts() {
            return later.get().counts();
        }

        @Override
        public int[] countsOnHost() {
            return later.get().countsOnHost();
        }

        @Override
        public Tensor sourceTokens() {
            return later.get().sourceTokens();
        }

        @Override
        public Tensor layoutRanges() {
            return later.get().layoutRanges();
        }
    }

    /** A low-latency combine. */
    record LowLatencyCombined(Later<LowLatencyCombineResult> later, Receiving receiving)
            implements LowLatencyCombineResult {
        @Override
        public EpEvent event() {
            return receiving.receipt().isHook() ? receiving.receipt().event() : later.event();
        }

        @Override
        public EpEvent receive() {
            return receive(receiving.usual());
        }

        @Override
        public EpEvent receive(OpOptions how) {
            return receiving.receive(how.after(later.event()));
        }

        @Override
        public Tensor out() {
            return later.get().out();
        }
    }
}
