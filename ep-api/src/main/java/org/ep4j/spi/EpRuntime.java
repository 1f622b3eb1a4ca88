package org.ep4j.spi;

import java.util.List;
import java.util.ServiceLoader;
import org.ep4j.BufferSize;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.EpPlan;

/**
 * The engine behind {@link EpGroup#join}, found by {@link java.util.ServiceLoader}; ep-engine contains the only one.
 */
public interface EpRuntime {
    /** Joins a group; see {@link EpGroup#join(Bootstrap, EpConfig)}. */
    EpGroup join(Bootstrap bootstrap, EpConfig config);

    /**
     * Bytes that a buffer would take on {@code rank} in a group with the given plan; see {@link EpGroup#bufferSize}.
     * Ranks that post to others need more than those that map all memory.
     *
     * @param rank which of them
     * @throws org.ep4j.EpArgumentException when the shape does not fit such a group
     */
    BufferSize bufferSize(EpShape shape, EpPlan plan, int rank);

    /**
     * Bytes that a buffer would take on a rank of a group in which all ranks map each other's memory.
     *
     * @param ranks number of ranks
     * @param rank which of them
     * @throws org.ep4j.EpArgumentException when the shape does not fit such a group
     */
    BufferSize bufferSize(EpShape shape, int ranks, int rank);

    /**
     * The engine that is installed.
     *
     * @throws EpUnavailableException when there is none, or more than one
     */
    static EpRuntime installed() {
        List<EpRuntime> runtimes = ServiceLoader.load(EpRuntime.class, EpGroup.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
        if (runtimes.size() != 1) {
            throw new EpUnavailableException(
                    runtimes.size() + " engines found, must be 1; add a backend such as"
                            + " org.ep4j:backend-host (the engine comes with it), and if jars are merged, keep META-INF/services");
        }
        return runtimes.get(0);
    }
}
