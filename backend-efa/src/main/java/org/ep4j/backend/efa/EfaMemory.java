package org.ep4j.backend.efa;

import java.lang.invoke.MethodHandles;
import java.util.List;
import org.ep4j.DeviceMemory;
import org.ep4j.plan.RecordCodec;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.posted.CpuCountedMemory;

/** Memory of one buffer on all ranks, and its counters on this one, which arrivals advance. */
final class EfaMemory extends CpuCountedMemory {
    /**
     * What a rank sends its peers of a buffer.
     *
     * @param number of the buffer on that rank, for records
     * @param data its memory
     */
    record Key(int number, Region data) {
        /** Of a rank that has no part in the buffer. */
        static final Key ABSENT = new Key(-1, Region.ABSENT);

        static final RecordCodec<Key> CODEC = new RecordCodec<>(MethodHandles.lookup(), Key.class, "a buffer", 3);
    }

    private final Region data;
    private final Key key;
    private List<Key> keys = List.of();

    /**
     * Creates registered memory, with counters at 0.
     *
     * @param ranks number of ranks that opened the backend
     * @param data as this rank writes from it
     * @param key as peers write to it
     */
    EfaMemory(DeviceMemory local, int ranks, Registrations registrations, Region data, Key key) {
        super(local, ranks, registrations);
        this.data = data;
        this.key = key;
    }

    Region data() {
        return data;
    }

    int number() {
        return key.number();
    }

    /** The buffer on a peer, by its index. */
    Key at(int peer) {
        return keys.get(peer);
    }

    @Override
    protected byte[] key() {
        return Key.CODEC.encode(key);
    }

    @Override
    protected void keys(List<byte[]> encoded) {
        keys = encoded.stream()
                .map(one -> one.length == 0 ? Key.ABSENT : Key.CODEC.decode(one))
                .toList();
    }

    /** A source has closed the buffer. */
    void close(int source) {
        advance(source, HostPosted.COUNTERS, 1);
    }
}
