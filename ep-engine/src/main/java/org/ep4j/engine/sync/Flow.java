package org.ep4j.engine.sync;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.EpStateException;

/**
 * Numbers the low-latency operations of one kind, of which two can be in flight: they alternate between two banks of
 * memory. Operations begin on one thread at a time; what other threads see of {@link #number} may be old.
 */
public class Flow {
    private final String name;
    private final Validity validity;

    /** Operations that are not received, by bank; 0 where there is none. */
    private final AtomicLongArray pending = new AtomicLongArray(2);

    /** Operations in graphs, which are launched only when they have been received. */
    private final Set<Long> recorded = ConcurrentHashMap.newKeySet();

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
        long before = pending.get(bank(next));
        if (before != 0) {
            throw new EpStateException(
                    "receive() of " + name + " number " + before + " has not been called, and number " + next
                            + " needs the same memory; at most two can be in flight");
        }
        number = next;
        pending.set(bank(next), next);
        validity.begin(next);
        return next;
    }

    /**
     * Checks that the receiving half of an operation is still to run.
     *
     * @throws EpStateException when the buffer has recovered since
     */
    public final void requirePending(long operation) {
        if (!isPending(operation)) {
            throw new EpStateException(
                    "receive() has nothing to receive: the buffer has recovered since the operation was sent");
        }
    }

    /** Records that an operation is in a graph, until it ends. */
    public final void recorded(long operation) {
        recorded.add(operation);
    }

    /**
     * Checks that the receiving half of an operation is recorded in the graph in which its sending half is.
     *
     * @throws EpStateException when it is not
     */
    public final void requireRecorded(long operation) {
        if (isPending(operation)) {
            throw new EpStateException("receive() of " + name + " number " + operation
                    + " was not called before the recording of the graph ended; a graph must have both halves of an"
                    + " operation");
        }
    }

    /**
     * Checks that a graph with operations of this kind may be launched: it may use both banks.
     *
     * @throws EpStateException when an operation has not been received
     */
    public final void requireAllReceived() {
        for (int bank = 0; bank < 2; bank++) {
            long operation = pending.get(bank);
            if (operation == 0 || recorded.contains(operation)) {
                continue;
            }
            throw new EpStateException("receive() of " + name + " number " + operation
                    + " has not been called, and the graph uses the same memory; call it before the graph is launched");
        }
    }

    private static int bank(long operation) {
        return (int) (operation & 1);
    }

    /** Returns whether the receiving half of an operation is still to run. */
    public final boolean isPending(long operation) {
        return pending.get(bank(operation)) == operation;
    }

    /** Returns whether all operations have been received. */
    public final boolean isAllReceived() {
        return pending.get(0) == 0 && pending.get(1) == 0;
    }

    /** Frees the bank of an operation, unless a later one has it: the operation is received, or never will be. From any thread. */
    public final void end(long operation) {
        pending.compareAndSet(bank(operation), operation, 0);
        if (!recorded.isEmpty()) {
            recorded.remove(operation);
        }
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
        pending.set(0, 0);
        pending.set(1, 0);
    }
}
