package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.transport.memory.Words;

/**
 * Words of device memory by copies, which return when they are done: slow, and only for setting up and recovering. A word
 * is copied whole, and what was written before it is there before it.
 */
final class DeviceWords implements Words {
    private final Copies copies;
    private final DeviceMemory memory;
    private final Runnable flush;

    /**
     * Over memory that a device reaches.
     *
     * @param memory of this device or mapped from a peer
     * @param flush makes the device see what others have written there, before it is read
     */
    DeviceWords(Copies copies, Device device, DeviceMemory memory, Runnable flush) {
        this.copies = copies;
        this.flush = flush;
        this.memory = DeviceMemory.of(memory.address(), memory.byteSize(), device);
    }

    DeviceMemory memory() {
        return memory;
    }

    private ByteBuffer read(long offset, int bytes) {
        flush.run();
        return copies.read(memory.slice(offset, bytes).address(), bytes);
    }

    private void write(long offset, ByteBuffer words) {
        copies.write(memory.slice(offset, words.position()).address(), words);
    }

    private static ByteBuffer buffer(int bytes) {
        return Copies.buffer(bytes);
    }

    @Override
    public void putInt(long offset, int value) {
        write(offset, buffer(4).putInt(value));
    }

    @Override
    public long getLong(long offset) {
        return read(offset, 8).getLong();
    }

    @Override
    public void putLong(long offset, long value) {
        write(offset, buffer(8).putLong(value));
    }

    @Override
    public long getLongAcquire(long offset) {
        return getLong(offset);
    }

    @Override
    public void putLongRelease(long offset, long value) {
        putLong(offset, value);
    }
}
