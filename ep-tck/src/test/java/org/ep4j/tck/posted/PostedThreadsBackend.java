package org.ep4j.tck.posted;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;

/** Registers memory that somebody else allocated; what peers map must outlive this rank's use of it and is its own. */
record PostedThreadsBackend(OpenContext context) implements EpBackend {
    @Override
    public String id() {
        return PostedThreadsProvider.ID;
    }

    @Override
    public boolean allocates() {
        return context.config().get(PostedThreadsProvider.INSIDE).equals("mapped");
    }

    @Override
    public SymmetricBuffer expose(String name, long bytes, Optional<DeviceMemory> memory, Duration deadline) {
        Endpoint own = allocates() ? allocate(bytes) : endpoint(memory.orElseThrow(), () -> {});
        List<byte[]> keys = context.bootstrap()
                .allGather(name, ByteBuffer.allocate(8).putLong(own.key()).array(), deadline);
        Map<Integer, Endpoint> all = new TreeMap<>();
        for (int i = 0; i < keys.size(); i++) {
            all.put(
                    context.ranks().get(i),
                    Endpoint.of(ByteBuffer.wrap(keys.get(i)).getLong()));
        }
        // Nobody closes before all have found it.
        context.bootstrap().barrier(name + "-found", deadline);
        return new PostedThreadsBuffer(context, name, own, all);
    }

    private Endpoint allocate(long bytes) {
        DeviceAllocation allocation = context.device().allocate(bytes);
        return endpoint(allocation.memory(), allocation::close);
    }

    private Endpoint endpoint(DeviceMemory memory, Runnable free) {
        return new Endpoint(context.rank(), context.plan().ranks(), memory, free);
    }

    @Override
    public void close() {
        // Buffers are closed by themselves.
    }
}
