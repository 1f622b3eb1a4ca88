package org.ep4j;

/**
 * Memory of one buffer on one rank, in bytes.
 *
 * @param symmetric memory that peers reach: shared memory, registered memory
 * @param local memory of this rank alone; pages that no result uses are not touched
 */
public record BufferSize(long symmetric, long local) {}
