package org.ep4j.backend.efa;

/** The calls that a {@link Link} makes, on endpoints that have one peer. For one thread at a time. */
interface Wire {
    /**
     * Posts a write with an immediate. It is done when its source may be written again and, where it carries anything but
     * {@link Immediate#DATA}, it and all such writes before it on its rail have arrived; where links have several rails, or rails
     * keep no order, when it has arrived.
     *
     * @param rail which endpoint
     * @param slot comes back with its completion
     * @return 0, or a negated error number: {@link FabricError#EAGAIN} where there is no room
     */
    int write(int rail, long remote, long key, long local, long descriptor, long length, int slot, int immediate);

    /** Takes completions of an endpoint out, and makes progress. Returns how many, or a negated error number. */
    int poll(int rail, Completions into);

    /** What the provider says of the failure that the last poll found. */
    String failure(int rail);

    /** Name of an error number, as the library gives it. */
    String error(int error);

    /** Closes all endpoints: nothing of the peer lands any more. Called once, and nothing afterwards. */
    void close();
}
