package org.ep4j.engine.host;

import org.ep4j.DispatchHandle;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyHandle;

/** Refuses handles of other buffers before they are used. */
final class Handles {
    private Handles() {}

    static HighThroughputHandle own(DispatchHandle handle, HighThroughput mode) {
        if (handle instanceof HighThroughputHandle own && own.owner() == mode) {
            return own;
        }
        throw foreign();
    }

    static LowLatencyHandleImpl own(LowLatencyHandle handle, LowLatency mode) {
        if (handle instanceof LowLatencyHandleImpl own && own.owner() == mode) {
            return own;
        }
        throw foreign();
    }

    private static EpStateException foreign() {
        return new EpStateException("the handle is of another buffer (or of one that is closed);"
                + " combine on the buffer that dispatched, with the handle of that dispatch");
    }
}
