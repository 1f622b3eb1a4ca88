package org.ep4j.engine.gpu;

import org.ep4j.EpEvent;

/** An event that is recorded again and again; it stands for where it was recorded last. Safe for several threads. */
public interface GpuMarker extends EpEvent, AutoCloseable {
    /** Moves it to the end of what is queued on {@code stream} now. */
    void record(long stream);

    /**
     * True when the work before it has ended well.
     *
     * @throws org.ep4j.EpException when the device failed
     */
    boolean hasPassed();

    /** Destroys it; streams that wait for it go on waiting. */
    @Override
    void close();
}
