package org.ep4j.spi;

import java.util.List;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;

/**
 * A transport, found by {@link java.util.ServiceLoader}. Its public no-argument constructor does nothing.
 *
 * <p>A group asks in this order: {@link #probe} on every rank, then {@link #offer} for every pair of ranks (on every
 * rank, from the same profiles, so all reach the same plan), then {@link #open} on the ranks whose plan uses the backend.
 * Implementations are safe for use from several threads.
 */
public interface EpBackendProvider {
    /** Name, for example {@code host-shm}. It matches {@code [a-z0-9-]{1,64}} and never changes. */
    String id();

    /**
     * Version of the SPI that this provider was compiled against, as numbers: {@code new SpiVersion(1, 0)}, never
     * {@link SpiVersion#CURRENT}, which is the version of the ep-api that runs.
     */
    SpiVersion spiVersion();

    /**
     * Settings that this backend reads; joining refuses a setting that neither ep4j nor a backend declares.
     */
    default List<ConfigKey<?>> configKeys() {
        return List.of();
    }

    /**
     * Probes this machine for one rank. Never throws, ends within the request's timeout, and changes nothing in the
     * process: no environment, no current device, no thread left behind.
     */
    ProbeReport probe(ProbeRequest request);

    /**
     * What {@link #probe} would report on a machine that is known only by description, supposing that the software that
     * the backend needs is installed there. Pure: it uses nothing but its arguments. {@link #offer} understands its
     * facts.
     *
     * <p>By default the planner cannot use the backend for a machine that is given only as a description.
     *
     * @param described a rank on that machine. Use its device, locality and host id only; its backends are empty or
     *     meaningless
     * @param config settings of that rank
     */
    default ProbeReport describe(RankProfile described, EpConfig config) {
        return ProbeReport.builder()
                .check(Check.fail(
                        "EP-PLAN-001",
                        "backend " + id()
                                + " cannot predict from the description of a machine whether it would run there",
                        "plan on the machine itself, or leave the backend out"))
                .build();
    }

    /**
     * How {@code from} would reach {@code to}: a pure function of the two profiles, called only where both ranks found the
     * backend usable. {@link RankProfile#facts(String)} gives what this backend's own probe reported there.
     *
     * <p>Called once for all pairs that differ only in names. It may depend on device types, localities (which hold
     * only NICs that the user allows), facts, settings that all ranks share, and the in-flight limits of NICs
     * ({@code ep.nic.max-inflight-bytes}, {@code -writes} and {@code -messages}). Of host ids, domains and
     * {@link RankProfile#identity(String) identity} it may use only whether both ranks have the same (and whether a
     * domain is empty). It must not use ranks, process ids, host names or device ordinals, nor name any of these in
     * the reason and remedy of {@link Offer#none}: the plan adds the ranks.
     */
    Offer offer(RankProfile from, RankProfile to);

    /**
     * Starts the backend on this rank. Collective over {@link OpenContext#ranks()}.
     *
     * @throws org.ep4j.EpException with reason and remedy; no partly opened state stays behind
     */
    EpBackend open(OpenContext context);
}
