package org.ep4j.spi;

import java.time.Duration;
import java.util.Optional;

/**
 * Capability of an {@link EpBackend} that registers memory that others allocated: NICs then read and write it. It
 * registers memory of the host, and memory of GPUs unless there is a {@link #refusal}.
 */
public interface RegistersMemory {
    /**
     * Registers this rank's part of a symmetric buffer and makes it reachable for peers. Collective over the ranks of the
     * backend, with the same {@code name} and size; when it fails on one rank it fails on all. Each rank may register
     * memory of another kind.
     *
     * @param name unique among the buffers of the group
     * @param memory a multiple of 4096 bytes; it stays until the buffer is closed
     * @param timeout longest time the call may take
     */
    SymmetricBuffer register(String name, ExposedMemory memory, Duration timeout);

    /**
     * Reason why this rank's NICs cannot register memory in the way that {@code kind} names, and what to do about it; empty if no
     * reason is known. Local, and registers nothing.
     */
    Optional<String> refusal(ExposedMemory.Kind kind);

    /**
     * Registers all of {@code memory} as {@link #register} would, and deregisters it again. Local.
     *
     * @throws org.ep4j.EpException when that fails, naming call, error number and what to do
     */
    void tryRegister(ExposedMemory memory);
}
