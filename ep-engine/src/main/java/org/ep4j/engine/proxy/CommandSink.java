package org.ep4j.engine.proxy;

/**
 * Carries out commands. Calls for the commands of one ring come from one thread, in the order of the ring. The {@link FailureListener} gets
 * what a call throws; then no more commands of the ring come for the same peer.
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
