package org.ep4j.tck.faults;

import java.util.Arrays;
import java.util.Optional;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;

/** Backends with wrong rows or sums. */
final class RowFaults {
    private RowFaults() {}

    /** Changes the result of a high-throughput dispatch. */
    abstract static class AfterDispatch extends FaultyGroup {
        abstract void spoil(DispatchRequest request, DispatchResult result);

        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (result instanceof DispatchResult dispatched
                    && arguments[0] instanceof DispatchRequest request
                    && dispatched.rows() > 0) {
                spoil(request, dispatched);
            }
            return result;
        }
    }

    /** One bit of one row, on rank 1 only. */
    static final class FlipsBitOnRankOne extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            if (rank() == 1) {
                flip(result.x(), 5);
            }
        }
    }

    /** A row that was lost: it holds zeros. */
    static final class LosesRow extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            if (request.layout() == RowLayout.BY_EXPERT) {
                byte[] content = read(result.x());
                Arrays.fill(content, 0, (int) (content.length / result.rows()), (byte) 0);
                write(result.x(), content);
            }
        }
    }

    /** A token that arrived twice: the second row repeats the first. */
    static final class RepeatsRow extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            int row = (int) (result.x().byteSize() / result.rows());
            if (request.layout() == RowLayout.BY_RANK && result.handle().rows() >= 2) {
                byte[] content = read(result.x());
                System.arraycopy(content, 0, content, row, row);
                write(result.x(), content);
            }
        }
    }

    /** Two rows in the wrong order, with everything that goes with them except the data. */
    static final class SwapsRows extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            if (request.layout() == RowLayout.BY_RANK) {
                swapRows(result.x());
            }
        }
    }

    /** Scales of FP8 rows belong to the neighbour. */
    static final class SwapsScales extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            result.scales().ifPresent(this::swapRows);
        }
    }

    /** Source tokens count from 1. */
    static final class CountsTokensFromOne extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            flip(result.sourceTokens(), 0);
        }
    }

    /** A weight is off by its last bit. */
    static final class WrongWeight extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            if (request.layout() == RowLayout.BY_EXPERT) {
                result.topkWeights().ifPresent(w -> flip(w, 0));
            }
        }
    }

    /** Weights have one dimension in both layouts. */
    static final class FlatWeights extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            return method.equals("DispatchResult.topkWeights") && result instanceof Optional<?> weights
                    ? weights.map(Tensor.class::cast).map(w -> Tensor.of(w.memory(), w.type(), w.elements()))
                    : result;
        }
    }

    /** Local ids are global ones. */
    static final class WrongLocalId extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            result.topkIds().filter(ids -> ids.type() == DataType.INT64).ifPresent(ids -> flip(ids, 1));
        }
    }

    /** A count on the device is wrong. */
    static final class WrongDeviceCount extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            flip(result.rowsPerExpert(), 0);
        }
    }

    /** Groups of experts begin one row late. */
    static final class WrongOffset extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            flip(result.expertOffsets(), 8);
        }
    }

    /** Padding is not zeroed. */
    static final class LeavesPadding extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            if (request.zeroPadding()) {
                int[] sources = new int[(int) result.rows()];
                java.nio.ByteBuffer.wrap(read(result.sourceRanks()))
                        .order(java.nio.ByteOrder.nativeOrder())
                        .asIntBuffer()
                        .get(sources);
                int row = (int) (result.x().byteSize() / result.rows());
                for (int i = 0; i < sources.length; i++) {
                    if (sources[i] < 0) {
                        flip(result.x(), i * row + row - 1);
                    }
                }
            }
        }
    }

    /** Rows beyond the valid ones of a worst-case result look valid. */
    static final class DirtyTail extends AfterDispatch {
        @Override
        void spoil(DispatchRequest request, DispatchResult result) {
            if (request.worstCase()) {
                flip(result.sourceRanks(), (int) result.sourceRanks().byteSize() - 4);
            }
        }
    }

    /** Host counts are not rounded up. */
    static final class IgnoresAlignment extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (method.equals("DispatchResult.hostRowsPerExpert")) {
                return Arrays.stream((int[]) result).map(n -> n - n % 5).toArray();
            }
            return result;
        }
    }

    /** Partial sums instead of exact ones. */
    static final class SumsOnTheWrongRank extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof CombineRequest r) {
                CombineRequest.Builder changed =
                        CombineRequest.builder(r.x(), r.handle()).precision(CombinePrecision.RANK_PARTIAL);
                r.weights().ifPresent(changed::weights);
                r.bias().forEach(changed::bias);
                r.out().ifPresent(changed::out);
                r.outWeights().ifPresent(changed::outWeights);
                r.waitStats().ifPresent(changed::waitStats);
                return proceed.with(changed.build());
            }
            return proceed.with(arguments);
        }
    }

    /** A returned weight is off by its last bit. */
    static final class WrongReturnedWeight extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (method.equals("EpBuffer.combine") && result instanceof CombineResult combined) {
                combined.weights().filter(w -> w.dim(1) > 4).ifPresent(w -> flip(w, 0));
            }
            return result;
        }
    }

    /** Low latency: one bit of one row of rank 0. */
    static final class FlipsPackedBit extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (result instanceof LowLatencyDispatchResult packed
                    && packed.event().isDone()
                    && rank() == 0) {
                flip(packed.x(), 3);
            }
            return result;
        }
    }

    /** Low latency: a count is wrong. */
    static final class WrongPackedCount extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (result instanceof LowLatencyDispatchResult packed
                    && packed.event().isDone()) {
                flip(packed.rowsPerExpert(), 0);
            }
            return result;
        }
    }

    /** Low latency: ranges begin at the wrong row. */
    static final class WrongRange extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (result instanceof LowLatencyDispatchResult packed
                    && packed.event().isDone()) {
                flip(packed.layoutRanges(), 12);
            }
            return result;
        }
    }

    /** Low latency: scales are off by the last bit. */
    static final class WrongScale extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (result instanceof LowLatencyDispatchResult packed
                    && packed.event().isDone()) {
                packed.scales().ifPresent(s -> flip(s, 0));
            }
            return result;
        }
    }

    /** Low latency: the combined rows are off by the last bit. */
    static final class WrongCombinedBit extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (method.equals("EpBuffer.lowLatencyCombine")
                    && result instanceof CombineResult combined
                    && combined.event().isDone()) {
                flip(combined.out(), 0);
            }
            return result;
        }
    }

    /** Low latency: rows are rounded to LogFMT without a request. */
    static final class RoundsAlways extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof LowLatencyCombineRequest r) {
                LowLatencyCombineRequest.Builder changed = LowLatencyCombineRequest.builder(r.x(), r.handle())
                        .precision(r.precision())
                        .format(WireFormat.LOGFMT10);
                r.topkWeights().ifPresent(changed::topkWeights);
                r.out().ifPresent(changed::out);
                r.waitStats().ifPresent(changed::waitStats);
                if (r.receiveHook()) {
                    changed.receiveHook();
                }
                return proceed.with(changed.build());
            }
            return proceed.with(arguments);
        }
    }
}
