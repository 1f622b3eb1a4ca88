package org.ep4j.engine.gpu;

import java.util.Deque;

/**
 * What the kernels of one buffer work with in one generation of its symmetric memory. A buffer that moves gets another one; this one
 * stays, refusing all operations, until the buffer is closed: graphs that a program recorded may still name its memory.
 *
 * @param state of both modes
 * @param deviceState numbers and masks as kernels see them
 * @param operations queue of this generation
 * @param highThroughput mode
 * @param lowLatency mode
 * @param posting threads that post for the kernels
 * @param owned what is freed with it, the newest first
 */
record GpuGeneration(
        GpuState state,
        DeviceState deviceState,
        Operations operations,
        HighThroughput highThroughput,
        LowLatency lowLatency,
        Posting posting,
        Deque<Runnable> owned) {
    /** Takes up operations again, since not all ranks could move away from it. */
    void resume() {
        operations.resume();
        left(false);
        posting.wake();
    }

    /** Ends it, with nothing in flight; its memory stays. */
    void retire() {
        operations.retire();
        left(true);
        posting.quiet();
    }

    private void left(boolean now) {
        highThroughput.left(now);
        lowLatency.left(now);
    }
}
