package org.ep4j;

import org.apiguardian.api.API;

/** Memory that one buffer takes on one rank, and multiprocessors that its operations use on a GPU. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class BufferSize {
    private final long symmetricBytes;
    private final long localBytes;
    private final int highThroughputSms;
    private final int lowLatencySms;

    private BufferSize(long symmetricBytes, long localBytes, int highThroughputSms, int lowLatencySms) {
        this.symmetricBytes = symmetricBytes;
        this.localBytes = localBytes;
        this.highThroughputSms = highThroughputSms;
        this.lowLatencySms = lowLatencySms;
    }

    /** Size of a buffer that uses no multiprocessors. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    public static BufferSize of(long symmetricBytes, long localBytes) {
        return new BufferSize(symmetricBytes, localBytes, 0, 0);
    }

    /** Returns a copy for operations that use the given numbers of multiprocessors. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    public BufferSize withSms(int highThroughput, int lowLatency) {
        return new BufferSize(symmetricBytes, localBytes, highThroughput, lowLatency);
    }

    /** Bytes of the memory that peers reach: shared memory, registered memory. */
    public long symmetricBytes() {
        return symmetricBytes;
    }

    /** Bytes of the memory of this rank alone; pages that no result uses are not touched. */
    public long localBytes() {
        return localBytes;
    }

    /** Multiprocessors that move rows in high throughput; 0 on the host, and before the buffer exists. */
    public int highThroughputSms() {
        return highThroughputSms;
    }

    /** Multiprocessors that move rows in low latency; 0 on the host, and before the buffer exists. */
    public int lowLatencySms() {
        return lowLatencySms;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof BufferSize s
                && s.symmetricBytes == symmetricBytes
                && s.localBytes == localBytes
                && s.highThroughputSms == highThroughputSms
                && s.lowLatencySms == lowLatencySms;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(31 * symmetricBytes + localBytes) + 31 * highThroughputSms + lowLatencySms;
    }

    @Override
    public String toString() {
        return "BufferSize[symmetricBytes=" + symmetricBytes + ", localBytes=" + localBytes + ", highThroughputSms="
                + highThroughputSms + ", lowLatencySms=" + lowLatencySms + "]";
    }
}
