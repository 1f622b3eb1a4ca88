package org.ep4j.engine.gpu;

import java.util.Map;
import org.ep4j.DeviceMemory;

/** What a buffer on a GPU tells those who measure it. */
public interface GpuBufferFacts {
    /** By rank: symmetric memory that this rank's GPU loads and stores, its own and that of all peers that are mapped. */
    Map<Integer, DeviceMemory> symmetricMemory();

    /** Multiprocessors that move rows in high throughput. */
    int highThroughputProcessors();

    /** Multiprocessors that move rows in low latency. */
    int lowLatencyProcessors();
}
