package org.ep4j.engine.sync;

import org.ep4j.EpStateException;

/**
 * Numbers the low-latency operations of one kind, of which two can be in flight: they alternate between two banks of
 * memory. For one thread at a time, except {@link #validity}; what other threads see of {@link #number} may be old.
 */
public class Flow {
    private final String name;
    private final Validity validity;
    private final boolean[] pending = new boolean[2];
    private long number;

    /** Creates it without operations; {@code name} is for messages. */
    public Flow(String name) {
        this.name = name;
        this.validity = new Validity(name, 2);
    }

    public final Validity validity() {
        return validity;
    }

    /** Number of the newest operation. */
    public final long number() {
        return number;
    }

    /**
     * Begins the next operation.
     *
     * @return its number, whose parity is the bank
     * @throws EpStateException when the bank holds an operation that has not been received
     */
    public final long begin() {
        long next = number + 1;
        if (pending[(int) (next & 1)]) {
            throw new EpStateException(
                    "receive() of " + name + " number " + (next - 2) + " has not been called, and number " + next
                            + " needs the same memory; at most two can be in flight");
        }
        number = next;
        pending[(int) (next & 1)] = true;
        validity.begin(next);
        return next;
    }

    /**
     * Checks that the receiving half of an operation is still to run.
     *
     * @throws EpStateException when the buffer has recovered since
     */
    public final void requirePending(long operation) {
        if (number - operation >= 2 || !pending[(int) (operation & 1)]) {
            throw new EpStateException(
                    "receive() has nothing to receive: the buffer has recovered since the operation was sent");
        }
    }

    /** Returns whether all operations have been received. */
    public final boolean isAllReceived() {
        return !pending[0] && !pending[1];
    }

    /** Frees the bank of an operation: it is received, or never will be. */
    public final void end(long operation) {
        pending[(int) (operation & 1)] = false;
    }

    /** Frees the bank of an operation whose sending half has failed, if it is the newest. */
    public final void abandon(long operation) {
        if (operation == number) {
            end(operation);
        }
    }

    /** Numbers the next operation after {@code last}, with nothing in flight. */
    public void reset(long last) {
        number = last;
        validity.begin(last);
        pending[0] = false;
        pending[1] = false;
    }
}
