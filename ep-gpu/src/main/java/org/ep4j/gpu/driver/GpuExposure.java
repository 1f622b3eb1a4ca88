package org.ep4j.gpu.driver;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.GpuSharing.SharedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.SymmetricAllocation;

/** Allocation of one symmetric buffer of GPU memory on one rank: agree on the size, allocate, map the peers' memory. For one thread. */
public final class GpuExposure implements SymmetricAllocation {
    private final int rank;
    private final Collective collective;
    private final GpuSharing sharing;
    private final MemoryHandle.Kind kind;
    private final String name;
    private final Map<Integer, SharedMemory> memory = new TreeMap<>();
    private List<MemoryHandle> handles = List.of();

    /**
     * Creates it for one buffer.
     *
     * @param kind that serves all peers of this rank: a plain allocation if no other process maps it
     * @param name of the buffer, the same on all ranks
     */
    public GpuExposure(
            OpenContext context, Collective collective, GpuSharing sharing, MemoryHandle.Kind kind, String name) {
        this.rank = context.rank();
        this.collective = collective;
        this.sharing = sharing;
        this.kind = kind;
        this.name = name;
    }

    @Override
    public Map<Integer, DeviceMemory> make(Runnable check, long bytes, Deadline deadline) {
        agreeOnSize(check, bytes, deadline);
        allocate(bytes, deadline);
        mapPeers(bytes, deadline);
        Map<Integer, DeviceMemory> mapped = new TreeMap<>();
        memory.forEach((of, shared) -> mapped.put(of, shared.memory()));
        return mapped;
    }

    /** First step: all ranks want the same size. */
    private void agreeOnSize(Runnable check, long bytes, Deadline deadline) {
        List<byte[]> sizes = collective.step(step("size"), deadline, () -> {
            check.run();
            return ByteBuffer.allocate(Long.BYTES).putLong(bytes).array();
        });
        collective.requireEqualSizes(name, sizes.stream().map(GpuExposure::size).toList());
    }

    private static long size(byte[] message) {
        if (message.length != Long.BYTES) {
            throw new EpException("a rank sent the size of a buffer in a message of " + message.length
                    + " bytes, but the message must have " + Long.BYTES + "; run the same ep4j version on all ranks");
        }
        return ByteBuffer.wrap(message).getLong();
    }

    /** Second step: every rank allocates its own memory, zeroed, and sends its handle. */
    void allocate(long bytes, Deadline deadline) {
        List<byte[]> encoded = collective.step(step("allocate"), deadline, () -> {
            SharedMemory own = sharing.allocate(bytes, kind);
            memory.put(rank, own);
            return own.handle().encode();
        });
        handles = encoded.stream().map(MemoryHandle::decode).toList();
    }

    /** Third step: every rank maps the memory of the peers that the plan connects it to over this backend. */
    void mapPeers(long bytes, Deadline deadline) {
        collective.step(step("map"), deadline, () -> {
            for (int i = 0; i < handles.size(); i++) {
                int peer = collective.ranks().get(i);
                if (collective.connects(rank, peer)) {
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

    private String step(String what) {
        return "expose/" + name + "/" + what;
    }

    /** Returns memory of a rank that is mapped here. */
    DeviceMemory memory(int of) {
        SharedMemory found = memory.get(of);
        if (found == null) {
            throw new IllegalStateException("the memory of rank " + of + " is not mapped on rank " + rank);
        }
        return found.memory();
    }

    @Override
    public void undo() {
        memory.values().forEach(SharedMemory::close);
        memory.clear();
    }
}
