package org.ep4j.engine.proxy;

/**
 * What is done with commands. Calls for the commands of one ring come from one thread, in the order of the ring. What a call
 * throws is told to the {@link FailureListener}; the commands for its peer that follow are dropped, writes and advances alike,
 * until {@link ProxyThreads#restore}.
 */
public interface CommandSink {
    /**
     * A write.
     *
     * @param ring index of the ring that it came through
     * @param target offset in the peer's memory, bytes
     * @param source offset in this rank's memory, bytes
     * @param bytes how many
     */
    void write(int ring, int peer, long target, long source, long bytes);

    /** The end of a counted write: after all writes to {@code peer} before, its counter becomes {@code value}. */
    void advance(int ring, int peer, int counter, long value);
}
