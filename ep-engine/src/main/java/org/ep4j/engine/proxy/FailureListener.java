package org.ep4j.engine.proxy;

/** Hears what a {@link CommandSink} or the pump for arrivals throws, on the proxy thread; it returns soon. */
public interface FailureListener {
    /** Ring and peer of a failure of the pump, which belongs to none. */
    int NONE = -1;

    /**
     * Handles the failure of a command, or of a poll for arrivals. Commands for other peers follow all the same, those for this peer are
     * dropped, so that no GPU waits for a full ring.
     *
     * @param ring index of the ring, or {@link #NONE}
     * @param peer of the command, or {@link #NONE}
     */
    void failed(int ring, int peer, Throwable failure);
}
