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

    record LowLatencyDispatched(Later<LowLatencyDispatchResult> later) implements LowLatencyDispatchResult {
        @Override
        public LowLatencyHandle handle() {
            return later.get().handle();
        }

        @Override
        public EpEvent event() {
            return later.event();
        }

        @Override
        public void receive() {
            later.get().receive();
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
        public Tensor sourceTokens() {
            return later.get().sourceTokens();
        }

        @Override
        public Tensor layoutRanges() {
            return later.get().layoutRanges();
        }
    }

    record LowLatencyCombined(Later<LowLatencyCombineResult> later) implements LowLatencyCombineResult {
        @Override
        public EpEvent event() {
            return later.event();
        }

        @Override
        public void receive() {
            later.get().receive();
        }

        @Override
        public Tensor out() {
            return later.get().out();
        }
    }
}
