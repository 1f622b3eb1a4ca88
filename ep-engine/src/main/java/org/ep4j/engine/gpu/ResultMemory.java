package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.engine.buffer.BufferMemory;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.LocalLayout.HighThroughput;
import org.ep4j.engine.layout.LocalLayout.LowLatency;

/**
 * Memory of the results of one buffer on a GPU, allocated region by region when a call first needs it, and freed with the buffer: by-expert
 * rows for the worst case alone may take more than a model leaves. Also while streams record graphs. Safe for several threads.
 */
final class ResultMemory implements BufferMemory.Results, AutoCloseable {
    private static final int BANKS = 2;

    private final GpuDevice device;
    private final LocalLayout layout;
    private final Map<HighThroughput, DeviceAllocation> highThroughput = new EnumMap<>(HighThroughput.class);
    private final List<Map<LowLatency, DeviceAllocation>> lowLatency = new ArrayList<>();
    private boolean closed;

    ResultMemory(GpuDevice device, LocalLayout layout) {
        this.device = device;
        this.layout = layout;
        for (int bank = 0; bank < BANKS; bank++) {
            lowLatency.add(new EnumMap<>(LowLatency.class));
        }
    }

    /** A region, which is allocated where it has not been yet. */
    synchronized DeviceMemory take(HighThroughput region) {
        return take(highThroughput, region, layout.bytes(region));
    }

    /** A region of a bank, which is allocated where it has not been yet. */
    synchronized DeviceMemory take(int bank, LowLatency region) {
        return take(lowLatency.get(bank), region, layout.bytes(region));
    }

    private <R extends Enum<R>> DeviceMemory take(Map<R, DeviceAllocation> taken, R region, long bytes) {
        if (closed) {
            throw new EpStateException("the buffer is closed; create another one");
        }
        if (!taken.containsKey(region)) {
            device.allocating(() -> taken.put(region, device.allocate(bytes)));
        }
        return Objects.requireNonNull(taken.get(region)).memory();
    }

    @Override
    public synchronized Optional<DeviceMemory> memory(HighThroughput region) {
        return Optional.ofNullable(highThroughput.get(region)).map(DeviceAllocation::memory);
    }

    @Override
    public synchronized List<DeviceMemory> memory(LowLatency region) {
        return lowLatency.stream()
                .flatMap(bank -> Optional.ofNullable(bank.get(region)).stream())
                .map(DeviceAllocation::memory)
                .toList();
    }

    /** Bytes that have been taken. */
    synchronized long bytes() {
        long bytes = 0;
        for (DeviceAllocation allocation : allocations()) {
            bytes += allocation.memory().byteSize();
        }
        return bytes;
    }

    private List<DeviceAllocation> allocations() {
        List<DeviceAllocation> all = new ArrayList<>(highThroughput.values());
        lowLatency.forEach(bank -> all.addAll(bank.values()));
        return all;
    }

    /** Frees all of it; no kernel may use it any more. */
    @Override
    public synchronized void close() {
        closed = true;
        allocations().forEach(DeviceAllocation::close);
        highThroughput.clear();
        lowLatency.forEach(Map::clear);
    }
}
