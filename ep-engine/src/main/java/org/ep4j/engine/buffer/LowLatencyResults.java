package org.ep4j.engine.buffer;

import static org.ep4j.engine.layout.LocalLayout.LowLatency.COUNTS;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.RANGES;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.SOURCE_TOKENS;

import java.util.Optional;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.sync.Receipt;
import org.ep4j.engine.sync.Validity;

/**
 * Results of low-latency operations that have been sent. No shape depends on what arrives, so accessors of a queued
 * operation give tensors without waiting, for work that goes on the same stream; with the hook only after
 * {@code receive()}.
 */
public final class LowLatencyResults {
    private LowLatencyResults() {}

    /** A dispatch as its result reads it. */
    public interface DispatchSource extends Source {
        LowLatencyHandle handle();

        /** Runs the receiving half; returns when it is done. */
        void receive(Receipt receipt);
    }

    /** A combine as its result reads it. */
    public interface CombineSource extends Source {
        /** Combined rows in the operation's bank, or the caller's tensor. */
        Tensor out();

        /** Runs the receiving half; returns when it is done. */
        void receive(Receipt receipt);
    }

    /** Options of a receiving half: its sending half has waited for their events. */
    public static OpOptions receiving(OpOptions options) {
        if (options.after().isEmpty()) {
            return options;
        }
        OpOptions rest = OpOptions.DEFAULT.onStream(options.stream());
        return options.timeout().map(rest::timeout).orElse(rest);
    }

    private static void check(Source source, Validity validity, Receipt receipt, String kind) {
        source.check(validity);
        if (receipt.isHook()) {
            receipt.requireDone(kind);
        }
    }

    /**
     * A dispatch.
     *
     * @param source the operation
     * @param validity of the buffer's dispatches
     * @param state of the buffer
     * @param request of the operation
     * @param format of its rows
     * @param receipt of its receiving half
     * @param end of the operation; with the hook, of its sending half
     */
    public record Dispatch(
            DispatchSource source,
            Validity validity,
            BufferState state,
            LowLatencyDispatchRequest request,
            LowLatencyFormat format,
            Receipt receipt,
            EpEvent end)
            implements LowLatencyDispatchResult {
        private void check() {
            LowLatencyResults.check(source, validity, receipt, "low-latency dispatch");
        }

        @Override
        public LowLatencyHandle handle() {
            source.await();
            return source.handle();
        }

        @Override
        public EpEvent event() {
            return receipt.isHook() ? receipt.event() : end;
        }

        @Override
        public void receive() {
            source.await();
            receipt.take();
            source.receive(receipt);
        }

        @Override
        public Tensor x() {
            check();
            return format.rowTensor(request, state, source.number());
        }

        @Override
        public Optional<Tensor> scales() {
            check();
            return format.scaleTensor(request, state, source.number());
        }

        @Override
        public Tensor rowsPerExpert() {
            check();
            return state.tensor(source.number(), COUNTS, DataType.INT32, state.localExperts());
        }

        @Override
        public Tensor sourceTokens() {
            check();
            return state.tensor(
                    source.number(),
                    SOURCE_TOKENS,
                    DataType.INT32,
                    state.localExperts(),
                    ShapeSizes.lowLatencyRows(state.shape(), state.ranks()));
        }

        @Override
        public Tensor layoutRanges() {
            check();
            return state.tensor(source.number(), RANGES, DataType.INT64, state.localExperts(), state.ranks());
        }
    }

    /**
     * A combine.
     *
     * @param source the operation
     * @param validity of the buffer's combines
     * @param receipt of its receiving half
     * @param end of the operation; with the hook, of its sending half
     */
    public record Combine(CombineSource source, Validity validity, Receipt receipt, EpEvent end)
            implements CombineResult {
        @Override
        public EpEvent event() {
            return receipt.isHook() ? receipt.event() : end;
        }

        @Override
        public void receive() {
            source.await();
            receipt.take();
            source.receive(receipt);
        }

        @Override
        public Tensor out() {
            check();
            return source.out();
        }

        @Override
        public Optional<Tensor> weights() {
            check();
            return Optional.empty();
        }

        private void check() {
            LowLatencyResults.check(source, validity, receipt, "low-latency combine");
        }
    }
}
