package org.ep4j.backend.nvlink;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.cuda.CudaSharing;
import org.ep4j.engine.cuda.MemoryHandle;
import org.ep4j.engine.cuda.SharedMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.OpenContext;

/** The making of one symmetric buffer on one rank: agree on the size, allocate, map the peers' memory. For one thread. */
final class Exposure {
    private final EpPlan plan;
    private final int rank;
    private final Collective collective;
    private final CudaSharing sharing;
    private final String name;
    private final Map<Integer, SharedMemory> memory = new TreeMap<>();
    private List<MemoryHandle> handles = List.of();

    Exposure(OpenContext context, Collective collective, CudaSharing sharing, String name) {
        this.plan = context.plan();
        this.rank = context.rank();
        this.collective = collective;
        this.sharing = sharing;
        this.name = name;
    }

    /**
     * First step: all ranks want the same size.
     *
     * @param check refuses wrong arguments on this rank
     */
    void agreeOnSize(Runnable check, long bytes, Deadline deadline) {
        List<byte[]> told = collective.step(step("size"), deadline, () -> {
            check.run();
            return ByteBuffer.allocate(Long.BYTES).putLong(bytes).array();
        });
        List<Long> sizes = told.stream().map(Exposure::size).toList();
        for (int i = 1; i < sizes.size(); i++) {
            if (!sizes.get(i).equals(sizes.get(0))) {
                throw new EpMismatchException("buffer \"" + name + "\" is " + sizes.get(0) + " bytes on " + label(0)
                        + " and " + sizes.get(i) + " bytes on " + label(i)
                        + "; create it with the same size on all ranks");
            }
        }
    }

    private static long size(byte[] told) {
        if (told.length != Long.BYTES) {
            throw new EpException("a rank told the size of a buffer in " + told.length + " bytes, expected "
                    + Long.BYTES + "; run the same ep4j version on all ranks");
        }
        return ByteBuffer.wrap(told).getLong();
    }

    private String label(int index) {
        return collective.label(collective.ranks().get(index));
    }

    /** Second step: every rank allocates its own memory, zeroed, and says how to map it. */
    void allocate(long bytes, Deadline deadline) {
        List<byte[]> told = collective.step(step("allocate"), deadline, () -> {
            SharedMemory own = sharing.allocate(bytes, kind());
            memory.put(rank, own);
            return own.handle().encode();
        });
        handles = told.stream().map(MemoryHandle::decode).toList();
    }

    /** The nearest kind that serves all peers of this rank: a plain allocation wherever no other host maps it. */
    private MemoryHandle.Kind kind() {
        RankProfile mine = plan.profiles().get(rank);
        MemoryHandle.Kind kind = MemoryHandle.Kind.PROCESS;
        for (int other : collective.ranks()) {
            RankProfile peer = plan.profiles().get(other);
            if (reaches(other, rank) && !peer.hostId().equals(mine.hostId())) {
                return MemoryHandle.Kind.FABRIC;
            }
            if (reaches(other, rank) && !NvlinkFacts.sameProcess(mine, peer)) {
                kind = MemoryHandle.Kind.IPC;
            }
        }
        return kind;
    }

    /** Third step: every rank maps the memory of the peers that the plan connects it to over this backend. */
    void mapPeers(long bytes, Deadline deadline) {
        collective.step(step("map"), deadline, () -> {
            for (int i = 0; i < handles.size(); i++) {
                int peer = collective.ranks().get(i);
                if (reaches(rank, peer)) {
                    memory.put(peer, map(peer, handles.get(i), bytes));
                }
            }
            return new byte[0];
        });
    }

    private SharedMemory map(int peer, MemoryHandle handle, long bytes) {
        if (handle.bytes() != bytes) {
            throw new EpException("the memory of " + collective.label(peer) + " has " + handle.bytes()
                    + " bytes, expected " + bytes + "; run the same ep4j version on all ranks");
        }
        try {
            return sharing.map(handle);
        } catch (EpException e) {
            throw new EpException("the memory of " + collective.label(peer) + ": " + e.getMessage(), e);
        }
    }

    private boolean reaches(int from, int to) {
        return from != to && plan.path(from, to).backend().equals(IpcNvlinkProvider.ID);
    }

    private String step(String what) {
        return "expose/" + name + "/" + what;
    }

    /** Memory of a rank that is mapped here. */
    DeviceMemory memory(int of) {
        SharedMemory found = memory.get(of);
        if (found == null) {
            throw new IllegalStateException("the memory of rank " + of + " is not mapped on rank " + rank);
        }
        return found.memory();
    }

    /** This rank's memory and that of its peers, by rank. */
    Map<Integer, SharedMemory> memory() {
        return memory;
    }

    /** Gives back everything. */
    void undo() {
        memory.values().forEach(SharedMemory::close);
        memory.clear();
    }
}
