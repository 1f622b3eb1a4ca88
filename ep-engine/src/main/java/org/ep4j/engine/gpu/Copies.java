package org.ep4j.engine.gpu;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.transport.memory.HostMemory;

/**
 * Small synchronous copies between host and device. Their stream waits for no other, so they do not wait for kernels of other buffers,
 * which may wait for this rank. Safe for several threads.
 */
final class Copies {
    private final EngineGpu device;
    private final GpuStream stream;

    Copies(EngineGpu device) {
        this.device = device;
        this.stream = device.createStream();
    }

    /** Allocates a buffer for words in native order. */
    static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    /** Reads bytes into a new buffer, whose position is 0. */
    ByteBuffer read(long address, int bytes) {
        ByteBuffer words = buffer(bytes);
        copy(HostMemory.address(words), address, bytes, words);
        return words;
    }

    /** Writes what has been put into {@code words}. */
    void write(long address, ByteBuffer words) {
        copy(address, HostMemory.address(words), words.position(), words);
    }

    private void copy(long to, long from, int bytes, ByteBuffer words) {
        try {
            device.copy(to, from, bytes, stream.handle());
            device.synchronize(stream.handle());
        } finally {
            Reference.reachabilityFence(words);
        }
    }

    void close() {
        stream.close();
    }
}
