package org.ep4j.backend.ibrc;

/** The verbs that a {@link Link} calls once it is connected. For one thread at a time. */
interface Wire {
    /**
     * Posts requests in order.
     *
     * @param from index of the first request
     * @param to index behind the last
     * @return index behind the last that was posted; where that is not {@code to}, {@link SendQueue.Batch#error} has
     *     the reason
     */
    int post(SendQueue.Batch batch, int from, int to);

    /**
     * Takes completions out; returns how many.
     *
     * @param polls most polls, made until something is there
     */
    int poll(Completions into, int polls);

    /** Stops a queue pair for good: what was not executed will not be. */
    void stop(int lane);

    /** Posts receives for immediates. Returns how many were posted, or a negated error number where none was. */
    int postReceives(int lane, int count);

    /** Text of a status. */
    String status(int status);

    /** Text of an error number. */
    String error(int error);
}
