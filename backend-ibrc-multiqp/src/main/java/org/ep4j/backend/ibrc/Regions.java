package org.ep4j.backend.ibrc;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Regions out of what ranks told. */
final class Regions {
    private Regions() {}

    static Region of(long address, List<Integer> keys, List<MemoryRecord> told) {
        long[] addresses = told.stream().mapToLong(MemoryRecord::address).toArray();
        int[][] remoteKeys = told.stream().map(one -> array(one.keys())).toArray(int[][]::new);
        return new Region(address, array(keys), addresses, remoteKeys);
    }

    private static int[] array(List<Integer> values) {
        return values.stream().mapToInt(Integer::intValue).toArray();
    }

    static <T> T present(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("a peer was not prepared for");
        }
        return value;
    }
}
