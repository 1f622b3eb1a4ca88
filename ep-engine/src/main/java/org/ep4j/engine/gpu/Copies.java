package org.ep4j.engine.gpu;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.transport.memory.HostMemory;

/**
 * Small copies between host and device that return when they are done. They go on a stream that waits for no other, so that
 * kernels of other buffers, which may wait for this rank, are not waited for. Safe for several threads.
 */
final class Copies {
    private final EngineGpu device;
    private final GpuStream stream;

    Copies(EngineGpu device) {
        this.device = device;
        this.stream = device.createStream();
    }

    /** Room for words in native order. */
    static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    /** Reads; the result begins at its position. */
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
