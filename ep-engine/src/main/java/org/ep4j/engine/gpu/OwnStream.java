package org.ep4j.engine.gpu;

import org.jspecify.annotations.Nullable;

/**
 * A stream of one rank's own, made when it is needed first: for calls that return when their operation is done, on a stream
 * that all ranks of the process share. Used under the lock of {@link Operations}.
 */
final class OwnStream {
    private final GpuDevice device;
    private @Nullable GpuStream stream;
    private @Nullable GpuMarker marker;

    OwnStream(GpuDevice device) {
        this.device = device;
    }

    /** The stream, behind what is queued on {@code shared} now. */
    long behind(long shared) {
        GpuStream own = stream == null ? device.createStream() : stream;
        stream = own;
        GpuMarker before = marker == null ? device.createMarker() : marker;
        marker = before;
        before.record(shared);
        device.await(own.handle(), before);
        return own.handle();
    }

    void close() {
        if (marker != null) {
            marker.close();
        }
        if (stream != null) {
            stream.close();
        }
    }
}
