package org.ep4j.cli.fifo;

/** Who puts commands into rings. One thread at a time. */
interface Producers extends AutoCloseable {
    /** Where they do. */
    RingMemory ringMemory();

    /** How many put into each ring at once. */
    int each();

    /** What they are, for people. */
    String name();

    /** Empties all rings; nothing may be under way. */
    void clear();

    /**
     * Puts the commands of {@link Pattern} up to {@code commands} times producers, into the first so many rings.
     *
     * @param commands of each producer
     * @return when they began, by {@link System#nanoTime}, once all is put
     */
    long fill(int rings, long commands);

    /**
     * Puts one command after the other into the first ring, each when the one before is answered.
     *
     * @return nanoseconds from a command to its answer
     */
    long[] ping(int count);

    @Override
    void close();
}
