package org.ep4j.transport.posted;

/** Pause of a thread that polls connections which no call polls. For this thread alone. */
public interface PollPause {
    /** Name of the thread. */
    String name();

    /**
     * Waits for an event of a NIC, or for a short time.
     *
     * @param moved whether the last pass over all connections has moved anything
     */
    void pause(boolean moved);
}
