package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.engine.sync.SymmetricMemory;

/**
 * Addresses of the symmetric memory of all ranks, by rank, as kernels store into it. A buffer that moves into fresh memory gets
 * another table: what was recorded in a graph before keeps the old one, so it cannot write into the fresh memory.
 */
final class PeerTable {
    private final GpuDevice device;
    private final Copies copies;
    private final int ranks;
    private final Optional<GpuWindow> window;
    private final List<DeviceAllocation> tables = new ArrayList<>();

    /**
     * For one buffer, without addresses yet.
     *
     * @param window stands for the memory of peers that are not mapped
     */
    PeerTable(GpuDevice device, Copies copies, int ranks, Optional<GpuWindow> window) {
        this.device = device;
        this.copies = copies;
        this.ranks = ranks;
        this.window = window;
    }

    /** Puts the addresses of a memory into the arguments of kernels: those of all ranks, and of this one. */
    void set(SymmetricMemory symmetric, Arguments arguments) {
        DeviceAllocation table = device.allocatePrivate((long) Long.BYTES * ranks);
        tables.add(table);
        ByteBuffer words = Copies.buffer(Long.BYTES * ranks);
        for (int r = 0; r < ranks; r++) {
            words.putLong(address(symmetric, r));
        }
        copies.write(table.memory().address(), words);
        arguments.set(Param.PEERS, table.memory().address());
        arguments.set(Param.LOCAL, symmetric.local().address());
    }

    /** 0 for a rank that has no part in the memory, which kernels do not use. */
    private long address(SymmetricMemory symmetric, int rank) {
        if (rank == symmetric.rank()) {
            return symmetric.local().address();
        }
        DeviceMemory mapped = symmetric.mapped().get(rank);
        return mapped != null
                ? mapped.address()
                : window.map(GpuWindow::address).orElse(0L);
    }

    /** Frees all tables. */
    void close() {
        tables.forEach(DeviceAllocation::close);
    }
}
