package org.ep4j.tck.posted;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.DeviceAllocation;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;

/** Open on one rank. Buffers are in memory of the rank's emulated GPU, counters behind them. */
final class PutThreadsBackend implements EpBackend {
    private volatile OpenContext context;

    PutThreadsBackend(OpenContext context) {
        this.context = context;
    }

    @Override
    public void continueWith(Bootstrap members, List<Integer> ranks) {
        OpenContext before = context;
        context = new OpenContext(
                before.plan(), before.rank(), ranks, members, before.device(), before.config(), before.deadline());
    }

    @Override
    public String id() {
        return PutThreadsProvider.ID;
    }

    @Override
    public boolean allocates() {
        return false;
    }

    @Override
    public boolean allocatesWindow() {
        return true;
    }

    @Override
    public SymmetricBuffer expose(String name, long bytes, Optional<ExposedMemory> memory, Duration deadline) {
        if (memory.isPresent()) {
            throw new IllegalArgumentException("memory is given to a backend that allocates it");
        }
        OpenContext now = context;
        long counters = 64L * HostPosted.COUNTERS * now.plan().ranks();
        DeviceAllocation own = now.device().allocate(bytes + counters);
        PutTable table = PutTable.get();
        int slot = table.add(own.memory().address());
        List<byte[]> all = now.bootstrap()
                .allGather(
                        name,
                        ByteBuffer.allocate(12)
                                .putLong(own.memory().address())
                                .putInt(slot)
                                .array(),
                        deadline);
        Map<Integer, PutThreadsBuffer.Peer> peers = new TreeMap<>();
        for (int i = 0; i < all.size(); i++) {
            ByteBuffer words = ByteBuffer.wrap(all.get(i));
            peers.put(now.ranks().get(i), new PutThreadsBuffer.Peer(words.getLong(), words.getInt()));
        }
        return new PutThreadsBuffer(now, own, bytes, peers);
    }

    @Override
    public void close() {
        // Buffers are closed by themselves.
    }
}
