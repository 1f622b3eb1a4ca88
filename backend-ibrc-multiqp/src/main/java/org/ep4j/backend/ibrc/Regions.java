package org.ep4j.backend.ibrc;

import java.util.List;
import org.ep4j.spi.ExposedMemory;
import org.jspecify.annotations.Nullable;

/** Regions out of what ranks told. */
final class Regions {
    private Regions() {}

    /** Of words, which are in memory of the host. */
    static Region of(long address, List<Integer> keys, List<MemoryRecord> told) {
        return of(address, true, keys, told);
    }

    static Region ofData(ExposedMemory memory, List<Integer> keys, List<MemoryRecord> told) {
        return of(memory.memory().address(), memory.kind() == ExposedMemory.Kind.HOST, keys, told);
    }

    private static Region of(long address, boolean onHost, List<Integer> keys, List<MemoryRecord> told) {
        long[] addresses = told.stream().mapToLong(MemoryRecord::address).toArray();
        int[][] remoteKeys = told.stream().map(one -> array(one.keys())).toArray(int[][]::new);
        return new Region(address, onHost, array(keys), addresses, remoteKeys);
    }

    private static int[] array(List<Integer> values) {
        return values.stream().mapToInt(Integer::intValue).toArray();
    }

    static <T> T present(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("nothing was prepared for this peer");
        }
        return value;
    }
}
