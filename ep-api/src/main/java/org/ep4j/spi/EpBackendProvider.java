package org.ep4j.spi;

import java.util.List;
import java.util.Map;
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
    /** Name, for example {@code host-shm}. It matches {@code [a-z0-9-]{1,64}} and never changes. */
    String id();

    /**
     * Version of the SPI that this provider was compiled against, as numbers: {@code new SpiVersion(1, 0)}, never
     * {@link SpiVersion#CURRENT}, which is the version of the ep-api that runs.
     */
    SpiVersion spiVersion();

    /**
     * Settings that this backend reads; {@link org.ep4j.config.EpConfig} refuses a setting that neither ep4j nor a
     * backend declares.
     */
    default List<ConfigKey<?>> configKeys() {
        return List.of();
    }

    /**
     * Probes this machine for one rank. Never throws, ends within the request's deadline, and changes nothing in the
     * process: no environment, no current device, no thread left behind.
     */
    ProbeReport probe(ProbeRequest request);

    /**
     * What {@link #probe} would report on a machine that is known only by description, supposing that the software that
     * the backend needs is installed there. Pure: it uses nothing but the request. {@link #offer} understands its
     * facts.
     *
     * <p>By default the planner cannot use the backend for a machine that is given only as a description.
     */
    default ProbeReport describe(DescribeRequest request) {
        return new ProbeReport(
                List.of(Check.fail(
                        "EP-PLAN-001",
                        "backend " + id()
                                + " cannot predict from the description of a machine whether it would run there",
                        "plan on the machine itself, or leave the backend out")),
                Map.of());
    }

    /**
     * How {@code from} would reach {@code to}: a pure function of the two profiles, called only where both ranks found the
     * backend usable. {@link RankProfile#facts(String)} gives what this backend's own probe reported there.
     *
     * <p>It is asked once for all pairs that differ in names alone. So it looks at the types of the devices, the localities
     * (which hold only NICs that the user allows) and the facts; of host ids, domains and {@link RankProfile#identity(String)
     * identity} it looks only at whether those of the two ranks are equal (and whether a domain is empty); and it does not
     * look at numbers of ranks, process ids, names of hosts and ordinals of devices. The text of {@link NoPath} names none
     * of these: the plan adds the ranks.
     */
    Offer offer(RankProfile from, RankProfile to);

    /**
     * Starts the backend on this rank. Collective over {@link OpenContext#ranks()}.
     *
     * @throws org.ep4j.EpException with reason and remedy; no partly opened state stays behind
     */
    EpBackend open(OpenContext context);
}
