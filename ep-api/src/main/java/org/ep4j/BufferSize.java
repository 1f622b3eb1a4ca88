package org.ep4j;

import java.util.List;
import org.apiguardian.api.API;

/** Memory that one buffer takes on one rank, and multiprocessors that its operations use on a GPU. Immutable. */
public sealed interface BufferSize {
    /** Size of a buffer whose local memory is not divided, and that uses no multiprocessors. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    static BufferSize of(long symmetricBytes, long localBytes) {
        return new BufferSizeValue(symmetricBytes, localBytes, List.of(), symmetricBytes + localBytes, 0, 0);
    }

    /**
     * Size of a buffer that uses no multiprocessors.
     *
     * @param parts of the local memory
     * @param preallocated whether they are taken when the buffer is created
     */
    @API(status = API.Status.INTERNAL, since = "0.1")
    static BufferSize of(long symmetricBytes, List<Part> parts, boolean preallocated) {
        long localBytes = parts.stream().mapToLong(Part::bytes).sum();
        return new BufferSizeValue(
                symmetricBytes,
                localBytes,
                List.copyOf(parts),
                preallocated ? symmetricBytes + localBytes : symmetricBytes,
                0,
                0);
    }

    /** Returns a copy for operations that use the given numbers of multiprocessors. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    default BufferSize withSms(int highThroughput, int lowLatency) {
        return new BufferSizeValue(
                symmetricBytes(), localBytes(), parts(), bytesAtCreation(), highThroughput, lowLatency);
    }

    /** Bytes of the memory that peers reach: shared memory, registered memory. */
    long symmetricBytes();

    /** Bytes of the memory of this rank alone when every part of it has been used: the sum of {@link #parts}. */
    long localBytes();

    /**
     * Local memory by use, without empty parts. On a GPU a part is taken when an operation needs it first, and kept until the buffer is
     * closed. On the host all are reserved when the buffer is created, and their pages are taken when results are written there.
     * With {@link EpShape.Builder#preallocate} all are taken when the buffer is created.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    List<Part> parts();

    /** Bytes that are taken when the buffer is created; on the host, pages of symmetric memory only when they are written. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    long bytesAtCreation();

    /** Multiprocessors that move rows in high throughput; 0 on the host, and before the buffer exists. */
    int highThroughputSms();

    /** Multiprocessors that move rows in low latency; 0 on the host, and before the buffer exists. */
    int lowLatencySms();

    /** Local memory for one use. Immutable. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    sealed interface Part {
        /** Creates a part. */
        @API(status = API.Status.INTERNAL, since = "0.1")
        static Part of(String use, long bytes) {
            return new PartValue(use, bytes);
        }

        /** Results that lie in the part, in words for people. */
        String use();

        /** Size of the part. */
        long bytes();
    }
}

record BufferSizeValue(
        long symmetricBytes,
        long localBytes,
        List<BufferSize.Part> parts,
        long bytesAtCreation,
        int highThroughputSms,
        int lowLatencySms)
        implements BufferSize {
    @Override
    public String toString() {
        return "BufferSize[symmetricBytes=" + symmetricBytes + ", localBytes=" + localBytes + ", bytesAtCreation="
                + bytesAtCreation + ", highThroughputSms=" + highThroughputSms + ", lowLatencySms=" + lowLatencySms
                + ", parts=" + parts + "]";
    }
}

record PartValue(String use, long bytes) implements BufferSize.Part {
    @Override
    public String toString() {
        return use + ": " + bytes;
    }
}
