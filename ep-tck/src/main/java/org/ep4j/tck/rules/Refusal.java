package org.ep4j.tck.rules;

import java.util.List;
import java.util.stream.Stream;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyHandle;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.oracle.Arena;

/**
 * Something that must be refused.
 *
 * @param name of the case
 * @param text what must be refused
 * @param type what it must throw
 * @param mention what the message must contain
 * @param action does it
 */
record Refusal(String name, String text, Class<? extends EpException> type, String mention, Action action) {
    /** Does what must be refused. */
    @FunctionalInterface
    interface Action {
        void run(Table table);
    }

    /** What an action works with: correct arguments, of which it breaks one. */
    static final class Table {
        static final int TOKENS = 6;
        static final int HIDDEN = 128;
        static final int TOPK = 3;
        static final int MOST = 8;

        final RankContext context;
        final EpBuffer buffer;
        final EpBuffer other;
        final Arena arena;
        final DispatchHandle handle;
        final LowLatencyHandle lowLatencyHandle;
        final long rows;

        Table(
                RankContext context,
                EpBuffer buffer,
                EpBuffer other,
                DispatchHandle handle,
                LowLatencyHandle lowLatencyHandle) {
            this.context = context;
            this.buffer = buffer;
            this.other = other;
            this.arena = context.arena();
            this.handle = handle;
            this.lowLatencyHandle = lowLatencyHandle;
            this.rows = handle.rows();
        }

        Tensor bf16(long... dims) {
            return arena.allocate(DataType.BF16, dims);
        }

        Tensor of(DataType type, long... dims) {
            return arena.allocate(type, dims);
        }

        Tensor x() {
            return bf16(TOKENS, HIDDEN);
        }

        Tensor ids() {
            return of(DataType.INT32, TOKENS, TOPK);
        }

        Tensor weights() {
            return of(DataType.FP32, TOKENS, TOPK);
        }

        long slots() {
            return (long) context.size() * MOST;
        }

        long local() {
            return buffer.placement().localExperts(context.rank());
        }

        DispatchRequest.Builder dispatch() {
            return DispatchRequest.builder(x(), ids());
        }

        void send(DispatchRequest.Builder request) {
            buffer.dispatch(request.build()).x();
        }

        CombineRequest.Builder combine() {
            return CombineRequest.builder(bf16(rows, HIDDEN), handle);
        }

        void send(CombineRequest.Builder request) {
            buffer.combine(request.build()).out();
        }

        LowLatencyDispatchRequest.Builder pack() {
            return LowLatencyDispatchRequest.builder(x(), ids());
        }

        void send(LowLatencyDispatchRequest.Builder request) {
            buffer.lowLatencyDispatch(request.build()).x();
        }

        LowLatencyCombineRequest.Builder unpack() {
            return LowLatencyCombineRequest.builder(bf16(local(), slots(), HIDDEN), lowLatencyHandle)
                    .topkWeights(weights());
        }

        void send(LowLatencyCombineRequest.Builder request) {
            buffer.lowLatencyCombine(request.build()).out();
        }

        /** Rows that a high-throughput dispatch can deliver here at most. */
        long worst() {
            return buffer.maxRows(RowLayout.BY_RANK, 1);
        }

        /** Rows of tokens in memory that other ranks read and write. */
        Tensor symmetric(EpBuffer of) {
            return Tensor.of(of.combineInput().memory(), DataType.BF16, TOKENS, HIDDEN);
        }

        /** A tensor whose allocation is closed. */
        Tensor closed(DataType type, long... dims) {
            try (Arena brief = new Arena(arena.device())) {
                return brief.allocate(type, dims);
            }
        }

        /** The same elements, two bytes further on. */
        Tensor shifted(DataType type, long... dims) {
            Tensor larger = of(type, of(type, dims).elements() + 8);
            return Tensor.of(larger.rows(1, larger.elements() - 1).memory(), type, dims);
        }
    }

    static Refusal wrong(String name, String text, String mention, Action action) {
        return new Refusal(name, text, EpArgumentException.class, mention, action);
    }

    static List<Refusal> all() {
        return Stream.of(
                        HighThroughputRefusals.dispatches(),
                        HighThroughputRefusals.combines(),
                        LowLatencyRefusals.dispatches(),
                        LowLatencyRefusals.combines(),
                        OtherRefusals.all())
                .flatMap(List::stream)
                .toList();
    }
}
