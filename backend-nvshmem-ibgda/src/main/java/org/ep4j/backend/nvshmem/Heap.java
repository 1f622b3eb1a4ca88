package org.ep4j.backend.nvshmem;

import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.plan.RecordCodec;

/**
 * The symmetric heap of a process: chunks that all PEs have allocated together, and ranges of them that are in use here.
 * Offsets count from the start of the first chunk through all of them; a range lies in one chunk. Safe for several threads.
 */
final class Heap {
    static final long GRANULE = 1 << 16;

    private final List<Chunk> chunks = new ArrayList<>();

    /** Ends of ranges in use, by where they begin. */
    private final TreeMap<Long, Long> used = new TreeMap<>();

    /** A part of the heap. */
    private record Chunk(long offset, long address, long bytes) {}

    /** A range of offsets. */
    record Range(long start, long end) {}

    /**
     * One rank's request for a range of the heap, exchanged before a buffer gets it.
     *
     * @param bytes size of the buffer, which must be the same everywhere
     * @param used ranges in use on the rank
     */
    record Request(long bytes, List<Range> used) {
        static final RecordCodec<Request> CODEC =
                new RecordCodec<>(MethodHandles.lookup(), Request.class, "its use of the heap", 1);
    }

    synchronized void add(long address, long bytes) {
        long offset =
                chunks.stream().mapToLong(c -> c.offset() + c.bytes()).max().orElse(0);
        chunks.add(new Chunk(offset, address, bytes));
    }

    /** Ranges in use, by where they begin. */
    synchronized List<Range> used() {
        return used.entrySet().stream()
                .map(range -> new Range(range.getKey(), range.getValue()))
                .toList();
    }

    /**
     * The first room that none of the ranks uses; all of them find the same.
     *
     * @param theirs ranges in use on any of them
     */
    synchronized Optional<Range> room(List<Range> theirs, long bytes) {
        List<Range> taken =
                theirs.stream().sorted(Comparator.comparingLong(Range::start)).toList();
        for (Chunk chunk : chunks) {
            long at = chunk.offset();
            for (Range range : taken) {
                if (range.end() <= at || range.start() >= chunk.offset() + chunk.bytes()) {
                    continue;
                }
                if (range.start() - at >= bytes) {
                    break;
                }
                at = Math.max(at, range.end());
            }
            if (chunk.offset() + chunk.bytes() - at >= bytes) {
                return Optional.of(new Range(at, at + bytes));
            }
        }
        return Optional.empty();
    }

    synchronized void use(Range range) {
        used.put(range.start(), range.end());
    }

    synchronized void free(Range range) {
        used.remove(range.start());
    }

    /** Where a range lies on this GPU. */
    synchronized long address(Range range) {
        return chunks.stream()
                .filter(c -> range.start() >= c.offset() && range.end() <= c.offset() + c.bytes())
                .mapToLong(c -> c.address() + range.start() - c.offset())
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(range + " is not in the heap"));
    }

    /** Bytes of all chunks. */
    synchronized long bytes() {
        return chunks.stream().mapToLong(Chunk::bytes).sum();
    }
}
