package org.ep4j.backend.ibrc;

import java.lang.invoke.MethodHandles;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.ep4j.plan.RecordCodec;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.posted.PostedMemory;
import org.jspecify.annotations.Nullable;

/**
 * Memory of one buffer on all ranks, and its words on this one: the counters of each source, one word for each peer, which the peer sets
 * as it closes the buffer, and one that is 1, which this rank copies to its word on each peer.
 */
final class IbrcMemory extends PostedMemory {
    /**
     * What a rank sends its peers of a buffer.
     *
     * @param number of the buffer on that rank, for immediates
     * @param data its memory
     * @param counters its words
     */
    record Key(int number, Region.Remote data, Region.Remote counters) {
        private static final Region.Remote NOWHERE = new Region.Remote(0, List.of());

        /** Of a rank that has no part in the buffer. */
        static final Key ABSENT = new Key(-1, NOWHERE, NOWHERE);

        static final RecordCodec<Key> CODEC = new RecordCodec<>(MethodHandles.lookup(), Key.class, "a buffer", 2);
    }

    /**
     * Local keys of a buffer on this rank, by index of the port.
     *
     * @param data for its memory
     * @param counters for its words
     */
    record LocalKeys(List<Integer> data, List<Integer> counters) {}

    private final ExposedMemory memory;
    private final int ranks;
    private final HostMemory words;
    private final LocalKeys local;
    private final Key key;
    private final boolean atomics;
    /** By index of the source; nothing where none is connected. */
    private final @Nullable Arrivals[] arrivals;

    private List<Key> keys = List.of();
    private Region data;
    private Region counters;

    /**
     * Creates registered memory.
     *
     * @param counted its words, of {@link #bytes} bytes
     * @param key as peers write to it
     * @param atomics whether the NIC advances counters
     * @param sources links to all peers
     */
    IbrcMemory(
            ExposedMemory memory,
            int ranks,
            Registrations registrations,
            Buffers.Counted counted,
            LocalKeys local,
            Key key,
            boolean atomics,
            Collection<Link> sources) {
        super(memory.memory(), ranks, registrations);
        this.memory = memory;
        this.ranks = ranks;
        this.words = counted.words();
        this.local = local;
        this.key = key;
        this.atomics = atomics;
        this.arrivals = new Arrivals[ranks];
        for (Link source : sources) {
            int index = source.peer().index();
            arrivals[index] = Arrivals.of(counted, index, source.memory(), atomics);
        }
        this.data = Region.ofData(memory, local.data(), List.of());
        this.counters = Region.ofWords(key.counters().address(), local.counters(), List.of());
        // Before any peer can be notified.
        words.putLongRelease(one(), 1);
    }

    /** Bytes of the words of a buffer. */
    static long bytes(int ranks) {
        return (long) ranks * LinkMemory.COUNTERS + 8L * (ranks + 1);
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
        data = Region.ofData(memory, local.data(), keys.stream().map(Key::data).toList());
        counters = Region.ofWords(
                key.counters().address(),
                local.counters(),
                keys.stream().map(Key::counters).toList());
    }

    Region data() {
        return data;
    }

    Region counters() {
        return counters;
    }

    /** Number of the buffer on a peer, by its index. */
    int number(int peer) {
        return keys.get(peer).number();
    }

    /** Offset of the word that a rank, by its index, sets as it closes the buffer. */
    long closed(int rank) {
        return (long) ranks * LinkMemory.COUNTERS + 8L * rank;
    }

    /** Offset of the word that is 1. */
    long one() {
        return closed(ranks);
    }

    @Override
    protected boolean isClosedBy(int peer) {
        return words.getLongAcquire(closed(peer)) != 0;
    }

    @Override
    protected boolean countsByPolling() {
        return !atomics;
    }

    @Override
    protected boolean showNew(int source, int counter) {
        return arrivals(source).showNew(counter);
    }

    @Override
    protected long shown(int source, int counter) {
        return arrivals(source).shown(counter);
    }

    private Arrivals arrivals(int source) {
        return Objects.requireNonNull(arrivals[source]);
    }
}
