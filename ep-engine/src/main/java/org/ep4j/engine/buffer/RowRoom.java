package org.ep4j.engine.buffer;

import java.util.Optional;
import java.util.function.Function;
import org.ep4j.DispatchRequest;
import org.ep4j.Tensor;

/** Tensors that the caller may give for the results of a high-throughput dispatch, and that need a place for each received row. */
public enum RowRoom {
    ROWS("out", DispatchRequest::out),
    SCALES("outScales", DispatchRequest::outScales),
    TOPK_IDS("outTopkIds", DispatchRequest::outTopkIds),
    TOPK_WEIGHTS("outTopkWeights", DispatchRequest::outTopkWeights),
    SOURCE_RANKS("outSourceRanks", DispatchRequest::outSourceRanks),
    SOURCE_TOKENS("outSourceTokens", DispatchRequest::outSourceTokens);

    private static final RowRoom[] ALL = values();

    private final String tensor;

    @SuppressWarnings("ImmutableEnumChecker") // a method of an immutable request
    private final Function<DispatchRequest, Optional<Tensor>> given;

    RowRoom(String tensor, Function<DispatchRequest, Optional<Tensor>> given) {
        this.tensor = tensor;
        this.given = given;
    }

    /** Returns how many rows the smallest of these tensors has room for; {@link Long#MAX_VALUE} if the request gives none. */
    public static long of(DispatchRequest request) {
        long rows = Long.MAX_VALUE;
        for (RowRoom room : ALL) {
            rows = Math.min(rows, room.rows(request));
        }
        return rows;
    }

    /** Returns the name of the smallest of these tensors; {@code out} if the request gives none. */
    public static String smallest(DispatchRequest request) {
        RowRoom smallest = ROWS;
        for (RowRoom room : ALL) {
            smallest = room.rows(request) < smallest.rows(request) ? room : smallest;
        }
        return smallest.tensor;
    }

    private long rows(DispatchRequest request) {
        Optional<Tensor> tensors = given.apply(request);
        return tensors.isPresent() ? tensors.get().dim(0) : Long.MAX_VALUE;
    }
}
