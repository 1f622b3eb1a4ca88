package org.ep4j.spi;

import java.util.Optional;

/**
 * Capability of an {@link EpBackend} whose NICs read and write memory of GPUs. One without it registers memory of the host
 * alone. Local: no call concerns other ranks, each of which may expose memory of another kind.
 */
public interface RegistersDeviceMemory {
    /**
     * Why this rank's NICs cannot register memory of its GPU in the way that {@code kind} names, and what to do about
     * it; empty if no reason is known. Registers nothing.
     */
    Optional<String> refusal(ExposedMemory.Kind kind);

    /**
     * Registers all of {@code memory} as {@link EpBackend#expose} would, and deregisters it again.
     *
     * @throws org.ep4j.EpException when that fails, naming call, error number and what to do
     */
    void tryRegister(ExposedMemory memory);
}
