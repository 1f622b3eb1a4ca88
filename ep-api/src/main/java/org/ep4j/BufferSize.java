package org.ep4j;

import org.apiguardian.api.API;

/** Memory that one buffer takes on one rank, and multiprocessors that its operations use on a GPU. Immutable. */
public sealed interface BufferSize {
    /** Size of a buffer that uses no multiprocessors. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    static BufferSize of(long symmetricBytes, long localBytes) {
        return new BufferSizeValue(symmetricBytes, localBytes, 0, 0);
    }

    /** Returns a copy for operations that use the given numbers of multiprocessors. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    default BufferSize withSms(int highThroughput, int lowLatency) {
        return new BufferSizeValue(symmetricBytes(), localBytes(), highThroughput, lowLatency);
    }

    /** Bytes of the memory that peers reach: shared memory, registered memory. */
    long symmetricBytes();

    /** Bytes of the memory of this rank alone; pages that no result uses are not touched. */
    long localBytes();

    /** Multiprocessors that move rows in high throughput; 0 on the host, and before the buffer exists. */
    int highThroughputSms();

    /** Multiprocessors that move rows in low latency; 0 on the host, and before the buffer exists. */
    int lowLatencySms();
}

record BufferSizeValue(long symmetricBytes, long localBytes, int highThroughputSms, int lowLatencySms)
        implements BufferSize {
    @Override
    public String toString() {
        return "BufferSize[symmetricBytes=" + symmetricBytes + ", localBytes=" + localBytes + ", highThroughputSms="
                + highThroughputSms + ", lowLatencySms=" + lowLatencySms + "]";
    }
}
