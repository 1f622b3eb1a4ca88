package org.ep4j.engine.buffer;

import org.ep4j.DeviceMemory;
import org.ep4j.Tensor;

/** Bytes of one address space, which GPUs of a process and its host share; an empty range overlaps nothing. */
record MemoryRange(long start, long bytes) {
    static MemoryRange of(Tensor tensor) {
        return new MemoryRange(tensor.address(), tensor.byteSize());
    }

    static MemoryRange of(DeviceMemory memory) {
        return new MemoryRange(memory.address(), memory.byteSize());
    }

    /** A part of some memory, between two offsets. */
    static MemoryRange of(DeviceMemory memory, long from, long to) {
        return new MemoryRange(memory.address() + from, to - from);
    }

    /** Bytes that are in both. */
    long common(MemoryRange other) {
        // Addresses are unsigned; a range does not pass their end.
        long ahead = other.start - start;
        long behind = start - other.start;
        if (bytes > 0 && other.bytes > 0 && Long.compareUnsigned(ahead, bytes) < 0) {
            return Math.min(other.bytes, bytes - ahead);
        }
        if (bytes > 0 && other.bytes > 0 && Long.compareUnsigned(behind, other.bytes) < 0) {
            return Math.min(bytes, other.bytes - behind);
        }
        return 0;
    }

    boolean holds(MemoryRange other) {
        return common(other) == other.bytes;
    }

    @Override
    public String toString() {
        return "0x" + Long.toHexString(start) + " to 0x" + Long.toHexString(start + bytes);
    }
}
