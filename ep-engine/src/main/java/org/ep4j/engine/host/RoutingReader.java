package org.ep4j.engine.host;

import java.util.Arrays;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.sync.Mask;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/** Reads and checks the expert ids of dispatches. One thread at a time; its memory is used again by the next dispatch. */
final class RoutingReader {
    /** Ids of 64 bits that are read at once: little enough for the first cache. */
    private static final int PIECE = 1024;

    private final EpShape shape;
    private final ExpertPlacement placement;
    private final int ranks;
    private final RequestChecks checks;
    private final long[] wide = new long[PIECE];

    /** Rank of each id from -1 on, {@code [1 + E]}; R where there is none or it is masked. */
    private final int[] owners;

    private @Nullable Mask ownersWithout;

    /** Last token that went to each rank, {@code [R + 1]}. */
    private final int[] lastToken;

    /** Number of tokens for each rank, {@code [R + 1]}. */
    private final int[] rowsTo;

    RoutingReader(EpShape shape, ExpertPlacement placement) {
        this.shape = shape;
        this.placement = placement;
        ranks = placement.ranks();
        checks = new RequestChecks(Device.HOST, shape, ranks, 0);
        owners = new int[1 + shape.experts()];
        lastToken = new int[ranks + 1];
        rowsTo = new int[ranks + 1];
    }

    /**
     * Fills a routing.
     *
     * @param topkIds {@code [tokens, K]}
     * @param memory gives access to them
     * @param mask ranks that nothing is sent to
     * @throws EpArgumentException when an id is neither -1 nor an expert's
     */
    void read(Tensor topkIds, HostMemory memory, int tokens, Mask mask, Routing routing) {
        int topK = shape.topK();
        checks.ids(topkIds, tokens);
        routing.begin(tokens, topkIds.type());
        int[] ids = routing.ids;
        readIds(topkIds.type(), memory, ids, tokens * topK);
        leaveOut(mask);
        Arrays.fill(lastToken, -1);
        Arrays.fill(rowsTo, 0);
        int[] firstTarget = routing.firstTarget;
        int[] targets = routing.targets;
        int next = 0;
        for (int t = 0; t < tokens; t++) {
            firstTarget[t] = next;
            lastToken[ranks] = t;
            for (int i = t * topK; i < (t + 1) * topK; i++) {
                int id = ids[i];
                if (id < -1 || id >= shape.experts()) {
                    throw outOfRange(memory, topkIds.type(), t, i - t * topK);
                }
                // Without branches, which random experts would mispredict half of the time.
                int owner = owners[1 + id];
                int first = lastToken[owner] == t ? 0 : 1;
                lastToken[owner] = t;
                targets[next] = owner;
                next += first;
                rowsTo[owner] += first;
                ids[i] = owner == ranks ? -1 : id;
            }
        }
        firstTarget[tokens] = next;
        System.arraycopy(rowsTo, 0, routing.rowsTo, 0, ranks);
    }

    private void readIds(DataType type, HostMemory memory, int[] ids, int count) {
        if (type == DataType.INT32) {
            memory.getInts(0, ids, 0, count);
            return;
        }
        for (int from = 0; from < count; from += PIECE) {
            int piece = Math.min(PIECE, count - from);
            memory.getLongs(8L * from, wide, 0, piece);
            for (int i = 0; i < piece; i++) {
                long id = wide[i];
                ids[from + i] = id == (int) id ? (int) id : Integer.MIN_VALUE;
            }
        }
    }

    private void leaveOut(Mask mask) {
        if (mask == ownersWithout) {
            return;
        }
        owners[0] = ranks;
        for (int e = 0; e < shape.experts(); e++) {
            int owner = placement.rankOf(e);
            owners[1 + e] = mask.has(owner) ? ranks : owner;
        }
        ownersWithout = mask;
    }

    private EpArgumentException outOfRange(HostMemory memory, DataType type, int t, int k) {
        long i = (long) t * shape.topK() + k;
        long id = type == DataType.INT32 ? memory.getInt(4 * i) : memory.getLong(8 * i);
        return RequestChecks.idOutOfRange(t, k, id, shape.experts());
    }
}
