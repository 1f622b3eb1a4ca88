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
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyHandle;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.ranks.RankContext;

/**
 * A call that must be refused.
 *
 * @param name of the case, by which its rule names it
 * @param type of the exception
 * @param mention part of the exception's message
 * @param call the call
 */
record Refusal(String name, Class<? extends EpException> type, String mention, Call call) {
    @FunctionalInterface
    interface Call {
        void run(Fixture fixture);
    }

    static Refusal wrong(String name, String mention, Call call) {
        return new Refusal(name, EpArgumentException.class, mention, call);
    }

    static Refusal closed(String name, Call call) {
        return new Refusal(name, EpStateException.class, "closed", call);
    }

    /** Creates the refusal of a handle of another buffer. */
    static Refusal foreign(String name, Call call) {
        return new Refusal(name, EpStateException.class, "buffer", call);
    }

    static List<Refusal> all() {
        return Stream.of(
                        HighThroughputRefusals.all(),
                        LowLatencyRefusals.all(),
                        OtherRefusals.all(),
                        OutputRefusals.all())
                .flatMap(List::stream)
                .toList();
    }

    /** Two buffers, handles of the first one, and correct arguments, of which a call replaces one. */
    static final class Fixture {
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

        Fixture(
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

        Tensor fp32(long... dims) {
            return arena.allocate(DataType.FP32, dims);
        }

        Tensor int32(long... dims) {
            return arena.allocate(DataType.INT32, dims);
        }

        Tensor fp8(long... dims) {
            return arena.allocate(DataType.FP8_E4M3, dims);
        }

        Tensor x() {
            return bf16(TOKENS, HIDDEN);
        }

        Tensor ids() {
            return int32(TOKENS, TOPK);
        }

        /** Returns ids of expert 0, except for the one at {@code index}. */
        Tensor ids(int index, int expert) {
            int[] ids = new int[TOKENS * TOPK];
            ids[index] = expert;
            return arena.ints(ids, TOKENS, TOPK);
        }

        long slots() {
            return (long) context.size() * MOST;
        }

        long local() {
            return buffer.placement().localExperts(context.rank());
        }

        /** Allocates rows for a low-latency combine. */
        Tensor slotRows() {
            return bf16(local(), slots(), HIDDEN);
        }

        DispatchRequest.Builder dispatch() {
            return DispatchRequest.builder(x(), ids());
        }

        void dispatch(Tensor x, Tensor ids) {
            send(DispatchRequest.builder(x, ids));
        }

        void send(DispatchRequest.Builder request) {
            buffer.dispatch(request.build()).x();
        }

        CombineRequest.Builder combine() {
            return CombineRequest.builder(bf16(rows, HIDDEN), handle);
        }

        void combine(Tensor x, DispatchHandle of) {
            send(CombineRequest.builder(x, of));
        }

        void send(CombineRequest.Builder request) {
            buffer.combine(request.build()).out();
        }

        LowLatencyDispatchRequest.Builder lowLatencyDispatch() {
            return LowLatencyDispatchRequest.builder(x(), ids());
        }

        void lowLatencyDispatch(Tensor x, Tensor ids) {
            send(LowLatencyDispatchRequest.builder(x, ids));
        }

        void send(LowLatencyDispatchRequest.Builder request) {
            buffer.lowLatencyDispatch(request.build()).x();
        }

        LowLatencyCombineRequest.Builder lowLatencyCombine() {
            return lowLatencyCombine(slotRows());
        }

        LowLatencyCombineRequest.Builder lowLatencyCombine(Tensor x) {
            return LowLatencyCombineRequest.builder(x, lowLatencyHandle).topkWeights(fp32(TOKENS, TOPK));
        }

        void send(LowLatencyCombineRequest.Builder request) {
            buffer.lowLatencyCombine(request.build()).out();
        }

        /** Returns the most rows that a high-throughput dispatch can deliver here. */
        long worst() {
            return buffer.maxRows(RowLayout.BY_RANK, 1);
        }

        /** Returns rows of tokens in memory that other ranks read and write. */
        Tensor symmetric(EpBuffer of) {
            return at(0, of.combineInput());
        }

        /** Returns rows of tokens that begin at a row of {@code memory}. */
        Tensor at(int row, Tensor memory) {
            return Tensor.of(memory.rows(row, TOKENS).memory(), DataType.BF16, TOKENS, HIDDEN);
        }

        /** Returns a tensor whose allocation is closed. */
        Tensor closed(DataType type, long... dims) {
            try (Arena brief = new Arena(arena.device())) {
                return brief.allocate(type, dims);
            }
        }

        /** Returns rows of tokens that begin at an odd element. */
        Tensor shifted() {
            Tensor larger = bf16(TOKENS * HIDDEN + 8);
            return Tensor.of(larger.rows(1, larger.elements() - 1).memory(), DataType.BF16, TOKENS, HIDDEN);
        }
    }
}
