package org.ep4j.engine.gpu;

import java.time.Duration;
import org.ep4j.EpEvent;

/**
 * The end of one operation of a buffer.
 *
 * @param recorded the device's event
 * @param operations of the buffer
 * @param sequence of the operation
 */
record GpuEvent(EpEvent recorded, Operations operations, long sequence) implements EpEvent {
    @Override
    public boolean isDone() {
        return recorded.isDone();
    }

    @Override
    public void await(Duration deadline) {
        operations.await(recorded, sequence, deadline);
    }

    @Override
    public long nativeHandle() {
        return recorded.nativeHandle();
    }
}
