package org.ep4j.backend.ibrc;

import java.util.List;
import org.ep4j.spi.ExposedMemory;

/**
 * Memory that every rank has registered alike. Two regions are equal when they are the same.
 *
 * @param address of this rank's own
 * @param onHost true when the processor reads this rank's own, which it cannot where that is memory of a GPU
 * @param keys this rank's local keys, by index of its port
 * @param remoteAddresses address on each rank, by index of the rank; 0 where nothing is connected
 * @param remoteKeys remote keys of each rank, by index of the rank and of that rank's port
 */
@SuppressWarnings("ArrayRecordComponent") // read for every work request, and compared by identity
record Region(long address, boolean onHost, int[] keys, long[] remoteAddresses, int[][] remoteKeys) {
    /**
     * Registered memory of a rank as its peers write to it.
     *
     * @param address first byte
     * @param keys remote keys, by index of the rank's port
     */
    record Remote(long address, List<Integer> keys) {
        Remote {
            keys = List.copyOf(keys);
        }
    }

    /** A region of words, which are in memory of the host. */
    static Region ofWords(long address, List<Integer> keys, List<Remote> remotes) {
        return of(address, true, keys, remotes);
    }

    static Region ofData(ExposedMemory memory, List<Integer> keys, List<Remote> remotes) {
        return of(memory.memory().address(), memory.kind() == ExposedMemory.Kind.HOST, keys, remotes);
    }

    private static Region of(long address, boolean onHost, List<Integer> keys, List<Remote> remotes) {
        long[] addresses = remotes.stream().mapToLong(Remote::address).toArray();
        int[][] remoteKeys =
                remotes.stream().map(remote -> array(remote.keys())).toArray(int[][]::new);
        return new Region(address, onHost, array(keys), addresses, remoteKeys);
    }

    private static int[] array(List<Integer> values) {
        return values.stream().mapToInt(Integer::intValue).toArray();
    }

    int key(int port) {
        return keys[port];
    }

    long remoteAddress(int rank) {
        return remoteAddresses[rank];
    }

    int remoteKey(int rank, int port) {
        return remoteKeys[rank][port];
    }
}
