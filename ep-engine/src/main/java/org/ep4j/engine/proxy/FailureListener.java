package org.ep4j.engine.proxy;

/** Hears what a {@link CommandSink} or an {@link ArrivalPump} throws, on the proxy thread; it returns soon. */
public interface FailureListener {
    /** Ring and peer of a failure of the pump, which belongs to none. */
    int NONE = -1;

    /**
     * One command, or one look at arrivals, has failed. The next ones are taken all the same, so that no GPU waits for a full ring;
     * those for the same peer are dropped.
     *
     * @param ring index of the ring, or {@link #NONE}
     * @param peer of the command, or {@link #NONE}
     */
    void failed(int ring, int peer, Throwable failure);
}
