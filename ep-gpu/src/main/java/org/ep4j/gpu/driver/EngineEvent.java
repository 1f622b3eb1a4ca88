package org.ep4j.gpu.driver;

import org.ep4j.EpEvent;

/** Event of a GPU that the engine records on streams by their handles. Safe for several threads. */
public interface EngineEvent extends EpEvent, AutoCloseable {
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
