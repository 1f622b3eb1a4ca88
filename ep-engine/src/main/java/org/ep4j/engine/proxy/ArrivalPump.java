package org.ep4j.engine.proxy;

/** What a proxy thread sees to beside commands, in every turn: what has come from peers. */
public interface ArrivalPump {
    ArrivalPump NONE = thread -> false;

    /**
     * Looks once, without waiting; what it throws is told to the {@link FailureListener}.
     *
     * @param thread which of the threads calls, from 0
     * @return true where there was something, so that the thread goes on without rest
     */
    boolean poll(int thread);
}
