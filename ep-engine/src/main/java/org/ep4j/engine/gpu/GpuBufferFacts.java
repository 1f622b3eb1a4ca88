package org.ep4j.engine.gpu;

import java.util.Map;
import java.util.Optional;
import org.ep4j.DeviceMemory;
import org.ep4j.EpBuffer;
import org.ep4j.engine.buffer.EngineBuffer;

/** Facts of a buffer on a GPU, for measurements. */
public interface GpuBufferFacts {
    /** Returns the facts of a buffer or of a view of it; empty where it is not on a GPU. */
    static Optional<GpuBufferFacts> of(EpBuffer buffer) {
        return EngineBuffer.on(buffer, GpuBufferFacts.class);
    }

    /** Returns the symmetric memory that this rank's GPU loads and stores, by rank: its own and that of all peers that are mapped. */
    Map<Integer, DeviceMemory> symmetricMemory();

    /** Returns the bytes of local memory that are taken, see {@link org.ep4j.BufferSize#parts}. Safe for use from several threads. */
    long localBytesTaken();

    /** Returns whether nothing of this buffer is queued or runs. Safe for use from several threads. */
    boolean isIdle();
}
