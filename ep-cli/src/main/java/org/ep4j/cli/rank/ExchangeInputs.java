package org.ep4j.cli.rank;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.Tensor;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Workload;

/** This rank's input tensors, filled again from every new workload. */
final class ExchangeInputs {
    /** {@code [T, H]} BF16. */
    final Tensor x;

    /** {@code [T, K]} INT64. */
    final Tensor ids;

    /** {@code [T, K]} FP32. */
    final Tensor weights;

    private final RankContext context;
    private final Tensor fp8;
    private final Tensor scales;
    private final ByteBuffer idBytes;

    /** Allocates tensors for {@code tokens} tokens; FP8 ones only {@code withFp8}. */
    ExchangeInputs(RankContext context, int tokens, boolean withFp8) {
        Arena arena = context.arena();
        int hidden = context.spec().hidden();
        int topK = context.spec().topK();
        this.context = context;
        this.x = arena.allocate(DataType.BF16, tokens, hidden);
        this.fp8 = arena.allocate(DataType.FP8_E4M3, withFp8 ? tokens : 0, hidden);
        this.scales = arena.allocate(DataType.FP32, withFp8 ? tokens : 0, (hidden + 127) / 128);
        this.ids = arena.allocate(DataType.INT64, tokens, topK);
        this.weights = arena.allocate(DataType.FP32, tokens, topK);
        this.idBytes = ByteBuffer.allocateDirect(tokens * topK * Long.BYTES).order(ByteOrder.nativeOrder());
    }

    /** Begins the high-throughput dispatch of these inputs. */
    DispatchRequest.Builder dispatch(Wire wire) {
        return wire == Wire.FP8 ? DispatchRequest.builder(fp8, ids).scales(scales) : DispatchRequest.builder(x, ids);
    }

    void load(Workload workload) {
        int rank = context.rank();
        Arena arena = context.arena();
        idBytes.clear();
        for (int id : workload.ids(rank)) {
            idBytes.putLong(id);
        }
        context.group().device().upload(idBytes.flip(), ids.memory());
        arena.upload(weights, workload.weights(rank));
        arena.fillShorts(x, (token, out) -> workload.row(rank, token, out));
        if (fp8.elements() > 0) {
            arena.fillBytes(fp8, (token, out) -> workload.fp8Row(rank, token, out));
            arena.fillFloats(scales, (token, out) -> workload.fp8Scales(rank, token, out));
        }
    }
}
