package org.ep4j.examples.llm;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpDevice;

/** Memory of a device in large pieces, since a model has thousands of tensors. It is freed as a whole. */
final class Arena implements AutoCloseable {
    private static final long PIECE = 64L << 20;
    private static final long ALIGNMENT = 256;

    private final EpDevice device;
    private final List<DeviceAllocation> pieces = new ArrayList<>();
    private long used = PIECE;

    Arena(EpDevice device) {
        this.device = device;
    }

    DeviceMemory allocate(long bytes) {
        long size = Math.max(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        if (size > PIECE / 4) {
            DeviceAllocation own = device.allocate(size);
            // Kept before the current piece, which still has room.
            pieces.add(0, own);
            return own.memory().slice(0, bytes);
        }
        if (used + size > PIECE) {
            pieces.add(device.allocate(PIECE));
            used = 0;
        }
        DeviceMemory memory = pieces.get(pieces.size() - 1).memory().slice(used, bytes);
        used += size;
        return memory;
    }

    DeviceMemory upload(ByteBuffer bytes) {
        DeviceMemory memory = allocate(bytes.remaining());
        device.upload(bytes, memory);
        return memory;
    }

    @Override
    public void close() {
        pieces.forEach(DeviceAllocation::close);
    }
}
