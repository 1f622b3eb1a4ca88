package org.ep4j.backend.nvshmem;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.DeviceCode;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.BufferArguments;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.OpenBuffers;

/** The backend, open on one rank. The heap and NVSHMEM itself stay when it closes. */
final class NvshmemBackend implements EpBackend, AllocatesMemory {
    /** Bytes of a counter: a line of the cache each. */
    static final int COUNTER_BYTES = 64;

    /** NVSHMEM_MAX_MEMORY_PER_GPU by default, and NVSHMEM_CUMEM_GRANULARITY. */
    private static final long LARGEST = 128L << 30;

    private static final long GRANULARITY = 512L << 20;

    /** Part of the heap that NVSHMEM itself takes, with a margin. */
    private static final long RESERVED = 256L << 20;

    private final OpenContext context;
    private final Collective collective;
    private final EngineGpu device;
    private final DeviceCode code;
    private final Set<Purpose> purposes;
    private final Map<Integer, Integer> numbers;
    private final NvshmemProcess process = NvshmemProcess.get();
    private final OpenBuffers<NvshmemBuffer> buffers;

    /**
     * A backend that is open.
     *
     * @param purposes what the plan uses it for: the same on all ranks, which take part in every buffer
     * @param numbers PEs by rank
     */
    NvshmemBackend(
            OpenContext context,
            Collective collective,
            EngineGpu device,
            DeviceCode code,
            Set<Purpose> purposes,
            Map<Integer, Integer> numbers) {
        this.context = context;
        this.collective = collective;
        this.device = device;
        this.code = code;
        this.purposes = Collections.unmodifiableSet(purposes);
        this.numbers = Map.copyOf(numbers);
        this.buffers = new OpenBuffers<>(collective, context.rank());
    }

    @Override
    public String id() {
        return NvshmemProvider.ID;
    }

    @Override
    public Set<Purpose> purposes() {
        return purposes;
    }

    @Override
    public SymmetricBuffer allocate(String name, long bytes, Purpose purpose, Duration timeout) {
        buffers.checkOpen();
        Deadline deadline = Deadline.in(timeout);
        long counters = (long) HostPosted.COUNTERS * context.plan().ranks() * COUNTER_BYTES;
        long whole = (bytes + counters + Heap.GRANULE - 1) / Heap.GRANULE * Heap.GRANULE;
        Heap heap = process.heap();
        List<Heap.Request> requests = collective
                .step("expose/" + name + "/room", deadline, () -> {
                    BufferArguments.checkAllocated(id(), bytes, purpose, purposes);
                    return Heap.Request.CODEC.encode(new Heap.Request(bytes, heap.used()));
                })
                .stream()
                .map(Heap.Request.CODEC::decode)
                .toList();
        collective.requireEqualSizes(
                name, requests.stream().map(Heap.Request::bytes).toList());
        List<Heap.Range> used =
                requests.stream().flatMap(one -> one.used().stream()).toList();
        Optional<Heap.Range> room = heap.room(used, whole);
        if (room.isEmpty()) {
            long chunk = Math.max(whole, NvshmemKeys.CHUNK.get(context.config()) / Heap.GRANULE * Heap.GRANULE);
            collective.step("expose/" + name + "/fits", deadline, () -> {
                checkFits(chunk);
                return new byte[0];
            });
            collective.step("expose/" + name + "/heap", deadline, () -> {
                grow(heap, chunk, deadline);
                return new byte[0];
            });
            room = heap.room(used, whole);
        }
        Heap.Range range = room.orElseThrow(() ->
                new EpException("the symmetric heap has no room even after it has grown; this is a defect of " + id()));
        heap.use(range);
        boolean done = false;
        try {
            collective.step("expose/" + name + "/zeroed", deadline, () -> {
                zero(heap.address(range), whole);
                return new byte[0];
            });
            done = true;
        } finally {
            if (!done) {
                heap.free(range);
            }
        }
        return buffers.add(new NvshmemBuffer(
                process,
                name,
                new NvshmemBuffer.Place(
                        heap.address(range),
                        bytes,
                        counters,
                        context.rank(),
                        context.plan().ranks()),
                device,
                code,
                peers(),
                EpKeys.TIMEOUT.get(context.config()),
                () -> heap.free(range),
                buffers::remove));
    }

    private Map<Integer, NvshmemBuffer.Peer> peers() {
        return collective.ranks().stream()
                .filter(rank -> collective.connects(context.rank(), rank) || collective.connects(rank, context.rank()))
                .collect(Collectors.toMap(
                        rank -> rank,
                        rank -> new NvshmemBuffer.Peer(
                                numbers.getOrDefault(rank, -1),
                                stores(rank),
                                collective.label(rank),
                                collective.about("device-posted writes", rank).build())));
    }

    /** Not over PCIe: whether stores arrive there in order is known only to the device library. */
    private boolean stores(int rank) {
        List<RankProfile> profiles = context.profiles();
        return !NvshmemKeys.PUTS.get(context.config())
                && GpuPath.between(profiles.get(context.rank()), profiles.get(rank))
                        .map(GpuPath::gpuLinks)
                        .orElse(true);
    }

    /** NVSHMEM ends the process where there is no room, so it is only asked where there is. */
    private void checkFits(long chunk) {
        int size = process.world().orElseThrow().size();
        if (collective.ranks().size() != size) {
            throw new EpResourceException(NvshmemProbe.HEAP + ": the symmetric heap has no room for " + chunk
                    + " more bytes. The heap grows only if all " + size
                    + " processes that initialised NVSHMEM take part, and only "
                    + collective.ranks().size()
                    + " of these processes are in this group; start all processes again with a larger "
                    + NvshmemKeys.CHUNK.name()
                    + ", so that the heap that the first group allocates has room for the buffers of later groups");
        }
        long limit = NvshmemKeys.CUDA_VMM.get(context.config()) ? LARGEST : NvshmemKeys.HEAP.get(context.config());
        long used = process.heap().bytes();
        if (chunk > limit - used - RESERVED) {
            throw new EpResourceException(NvshmemProbe.HEAP + ": the symmetric heap would have " + used + " + " + chunk
                    + " bytes, but ep4j can use at most " + (limit - RESERVED) + " of NVSHMEM's " + limit
                    + " bytes; lower the token limits of the buffer's shape"
                    + (NvshmemKeys.CUDA_VMM.get(context.config()) ? "" : ", or raise " + NvshmemKeys.HEAP.name()));
        }
        if (NvshmemKeys.CUDA_VMM.get(context.config())) {
            // Throws where the GPU has too little.
            device.allocate((chunk + GRANULARITY - 1) / GRANULARITY * GRANULARITY)
                    .close();
        }
    }

    private void grow(Heap heap, long chunk, Deadline deadline) {
        long address = process.grow(device, chunk, deadline.left());
        if (address == 0) {
            throw new EpResourceException(NvshmemProbe.HEAP + ": NVSHMEM could not allocate " + chunk
                    + " more bytes of symmetric heap on " + device.id()
                    + "; lower the token limits of the buffer's shape, or " + NvshmemKeys.CHUNK.name());
        }
        heap.add(address, chunk);
    }

    private void zero(long address, long bytes) {
        try (GpuStream stream = device.createStream()) {
            device.zero(address, bytes, stream.handle());
            device.synchronize(stream.handle());
        }
    }

    @Override
    public void close() {
        buffers.close();
    }

    @Override
    public String toString() {
        return NvshmemProvider.ID + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + ", "
                + code.version();
    }
}
