package org.ep4j.engine.gpu;

import java.util.List;
import org.ep4j.DeviceMemory;

/** What a buffer on a GPU tells those who measure it. */
public interface GpuBufferFacts {
    /** Symmetric memory of all ranks, as this rank's GPU reaches it. */
    List<DeviceMemory> symmetricMemory();

    /** Multiprocessors that move rows in high throughput. */
    int highThroughputProcessors();

    /** Multiprocessors that move rows in low latency. */
    int lowLatencyProcessors();
}
