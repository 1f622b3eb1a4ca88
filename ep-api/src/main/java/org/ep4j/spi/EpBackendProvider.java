package org.ep4j.spi;

import java.util.List;
import org.ep4j.config.ConfigKey;
import org.ep4j.plan.RankProfile;

/**
 * A transport, found by {@link java.util.ServiceLoader}. Its public no-argument constructor does nothing.
 *
 * <p>A group asks in this order: {@link #probe} on every rank, then {@link #offer} for every pair of ranks (on every
 * rank, from the same profiles, so all reach the same plan), then {@link #open} on the ranks whose plan uses the backend.
 * Implementations are safe for use from several threads.
 */
public interface EpBackendProvider {
    /** Name, {@code [a-z0-9-]{1,64}}, never changed: {@code host-shm}. */
    String id();

    /** The {@link SpiVersion#CURRENT} of the ep-api that this was compiled against, written as a constant. */
    SpiVersion spiVersion();

    /** The settings that this backend reads; others are refused by {@link org.ep4j.config.EpConfig}. */
    default List<ConfigKey<?>> configKeys() {
        return List.of();
    }

    /**
     * Looks at this machine for one rank. Never throws, ends within the request's deadline, and changes nothing in the
     * process: no environment, no current device, no thread left behind.
     */
    ProbeReport probe(ProbeRequest request);

    /**
     * How {@code from} would reach {@code to}: a pure function of the two profiles, called only where both ranks found the
     * backend usable. {@link RankProfile#facts(String)} gives what this backend's own probe reported there.
     */
    Offer offer(RankProfile from, RankProfile to);

    /**
     * Starts the backend on this rank. Collective over {@link OpenContext#ranks()}.
     *
     * @throws org.ep4j.EpException with reason and remedy; no partly opened state stays behind
     */
    EpBackend open(OpenContext context);
}
