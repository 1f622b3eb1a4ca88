package org.ep4j.engine.host;

import org.ep4j.DispatchHandle;
import org.ep4j.LowLatencyHandle;
import org.ep4j.engine.buffer.RequestChecks;

/** Refuses handles of other buffers, and handles that are closed, before anything else is checked. */
final class Handles {
    private Handles() {}

    static HighThroughputHandle own(DispatchHandle handle, HighThroughput mode) {
        if (handle instanceof HighThroughputHandle own && own.owner() == mode) {
            own.requireOpen();
            return own;
        }
        throw RequestChecks.foreignHandle();
    }

    static LowLatencyHandleImpl own(LowLatencyHandle handle, LowLatency mode) {
        if (handle instanceof LowLatencyHandleImpl own && own.owner() == mode) {
            own.requireOpen();
            return own;
        }
        throw RequestChecks.foreignHandle();
    }
}
