package org.ep4j.engine.buffer;

import static org.ep4j.engine.layout.LocalLayout.LowLatency.COUNTS;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.RANGES;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.SOURCE_TOKENS;

import java.util.Optional;
import java.util.OptionalInt;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.sync.ReceiveHook;
import org.ep4j.engine.sync.Validity;

/**
 * Results of low-latency operations that have been sent. No shape depends on what arrives, so accessors of a queued
 * operation return tensors without waiting, for work on the same stream; with the hook only after {@code receive()}.
 */
public final class LowLatencyResults {
    private LowLatencyResults() {}

    /** An operation as its result reads it. */
    public interface LowLatencySource extends ResultSource {
        /** Returns whether the receiving half has not begun, and still can. */
        boolean isPending();

        /** Runs the receiving half, or queues it if the sending half was queued; returns its end. */
        EpEvent receive();

        /** Waits for the end of the receiving half, if only then its results may be read. */
        default void awaitReceived(EpEvent end) {}

        default void receiveOnce(ReceiveHook hook) {
            hook.take();
            hook.run(this::receive, this::isPending);
        }

        default void check(Validity validity, ReceiveHook hook, String kind) {
            await();
            if (hook.isRequested()) {
                hook.requireCalled(kind);
                awaitReceived(hook.event());
            }
            validity.check(number());
        }
    }

    /** A dispatch as its result reads it. */
    public interface DispatchSource extends LowLatencySource {
        LowLatencyHandle handle();
    }

    /** A combine as its result reads it. */
    public interface CombineSource extends LowLatencySource {
        /** Combined rows in the operation's bank, or the caller's tensor. */
        Tensor out();
    }

    /** Returns the options of a receiving half: without the events that its sending half has waited for. */
    public static OpOptions receiving(OpOptions options) {
        if (options.after().isEmpty()) {
            return options;
        }
        OpOptions stream = OpOptions.DEFAULT.onStream(options.stream());
        OpOptions rest = options.isAsynchronous() ? stream.asynchronous() : stream;
        OpOptions timed = options.timeout().map(rest::timeout).orElse(rest);
        OptionalInt blocks = options.multiprocessors();
        return blocks.isPresent() ? timed.multiprocessors(blocks.getAsInt()) : timed;
    }

    /** A dispatch; {@code end} is that of the operation or, with the hook, of its sending half. */
    public record Dispatch(
            DispatchSource source,
            Validity validity,
            BufferState state,
            LowLatencyDispatchRequest request,
            LowLatencyFormat format,
            ReceiveHook hook,
            EpEvent end)
            implements LowLatencyDispatchResult {
        private void check() {
            source.check(validity, hook, "low-latency dispatch");
        }

        @Override
        public LowLatencyHandle handle() {
            source.await();
            return source.handle();
        }

        @Override
        public EpEvent event() {
            return hook.isRequested() ? hook.event() : end;
        }

        @Override
        public void receive() {
            source.receiveOnce(hook);
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
            return request.outRowsPerExpert()
                    .orElseGet(() -> state.tensor(source.number(), COUNTS, DataType.INT32, state.localExperts()));
        }

        @Override
        public Tensor sourceTokens() {
            check();
            return request.outSourceTokens()
                    .orElseGet(() -> state.tensor(
                            source.number(),
                            SOURCE_TOKENS,
                            DataType.INT32,
                            state.localExperts(),
                            ShapeSizes.lowLatencyRows(state.shape(), state.ranks())));
        }

        @Override
        public Tensor layoutRanges() {
            check();
            return request.outLayoutRanges()
                    .orElseGet(() ->
                            state.tensor(source.number(), RANGES, DataType.INT64, state.localExperts(), state.ranks()));
        }
    }

    /** A combine; {@code end} is that of the operation or, with the hook, of its sending half. */
    public record Combine(CombineSource source, Validity validity, ReceiveHook hook, EpEvent end)
            implements CombineResult {
        @Override
        public EpEvent event() {
            return hook.isRequested() ? hook.event() : end;
        }

        @Override
        public void receive() {
            source.receiveOnce(hook);
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
            source.check(validity, hook, "low-latency combine");
        }
    }
}
