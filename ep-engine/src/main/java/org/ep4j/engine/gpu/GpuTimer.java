package org.ep4j.engine.gpu;

/** Measures on the device how long work of a stream takes. One measurement at a time. */
public interface GpuTimer extends AutoCloseable {
    /** The measurement begins when what was queued on {@code stream} before is done. */
    void start(long stream);

    /** It ends when what was queued since is done. */
    void stop(long stream);

    /** Waits for the end, without a deadline; nanoseconds, with the resolution of the device's clock. */
    long elapsedNanos();

    /** Frees it. */
    @Override
    void close();
}
