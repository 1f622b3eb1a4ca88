package org.ep4j.engine.gpu;

/** A stream of its own, which waits for no other: not for stream 0 either. Safe for use from several threads. */
public interface GpuStream extends AutoCloseable {
    /** For {@link org.ep4j.OpOptions#onStream}. */
    long handle();

    /** Returns when everything queued so far is done. */
    void synchronize();

    /** Destroys it; the device does so when what was queued is done. */
    @Override
    void close();
}
