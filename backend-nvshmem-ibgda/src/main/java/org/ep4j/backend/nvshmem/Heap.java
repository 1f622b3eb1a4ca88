package org.ep4j.backend.nvshmem;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

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

    synchronized void add(long address, long bytes) {
        long offset =
                chunks.stream().mapToLong(c -> c.offset() + c.bytes()).max().orElse(0);
        chunks.add(new Chunk(offset, address, bytes));
    }

    /** What is in use, for the other ranks. */
    synchronized byte[] encode() {
        ByteBuffer out = ByteBuffer.allocate(16 * used.size());
        used.forEach((start, end) -> out.putLong(start).putLong(end));
        return out.array();
    }

    /** What {@link #encode} gave, which begins at {@code from}. */
    static List<Range> decode(byte[] bytes, int from) {
        List<Range> all = new ArrayList<>();
        ByteBuffer in = ByteBuffer.wrap(bytes).position(from);
        while (in.remaining() >= 16) {
            all.add(new Range(in.getLong(), in.getLong()));
        }
        return all;
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
