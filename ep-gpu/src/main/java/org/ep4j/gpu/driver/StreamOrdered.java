package org.ep4j.gpu.driver;

import org.ep4j.EpEvent;

/** Event whose owner uses its handle for others once it is done, and so orders streams after it itself. */
public interface StreamOrdered extends EpEvent {
    /** Lets later work on {@code stream} wait for the event; does nothing when it is done. */
    void before(EngineGpu device, long stream);
}
