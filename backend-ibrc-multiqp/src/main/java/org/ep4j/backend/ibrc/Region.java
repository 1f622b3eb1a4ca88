package org.ep4j.backend.ibrc;

/**
 * Memory that every rank has registered alike. Two regions are equal when they are the same.
 */
final class Region {
    private final long address;
    private final boolean onHost;
    private final int[] keys;
    private final long[] remoteAddress;
    private final int[][] remoteKeys;

    /**
     * A region on all ranks.
     *
     * @param address of this rank's own
     * @param onHost true when the processor reads this rank's own, which it cannot where that is memory of a GPU
     * @param keys this rank's local keys, by index of its port
     * @param remoteAddress address on each rank, by index of the rank; 0 where nothing is connected
     * @param remoteKeys remote keys of each rank, by index of the rank and of that rank's port
     */
    Region(long address, boolean onHost, int[] keys, long[] remoteAddress, int[][] remoteKeys) {
        this.address = address;
        this.onHost = onHost;
        this.keys = keys.clone();
        this.remoteAddress = remoteAddress.clone();
        this.remoteKeys = remoteKeys.clone();
    }

    long address() {
        return address;
    }

    boolean onHost() {
        return onHost;
    }

    int key(int port) {
        return keys[port];
    }

    long remoteAddress(int rank) {
        return remoteAddress[rank];
    }

    int remoteKey(int rank, int port) {
        return remoteKeys[rank][port];
    }
}
