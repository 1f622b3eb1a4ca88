package org.ep4j.backend.rocm;

import org.ep4j.engine.driver.MappedGpus;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;

/**
 * Memory of AMD GPUs of one host mapped into each other, as backend {@value #ID}. Between processes it needs one user, one PID
 * namespace, and every GPU of the group visible to every rank. A partition of a GPU counts as a GPU. Ranks may close, and
 * die, in any order.
 */
public final class RocmProvider implements EpBackendProvider {
    /** Name of the backend. */
    public static final String ID = "rocm";

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public RocmProvider() {}

    @Override
    public String id() {
        return ID;
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(1, 0);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        return RocmProbe.probe(request);
    }

    @Override
    public ProbeReport describe(DescribeRequest request) {
        return RocmDescription.describe(request);
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return RocmOffer.between(from, to);
    }

    /**
     * {@inheritDoc}
     *
     * <p>Pairs of GPUs that PCIe joins are tested here, and opening fails where PCIe does not keep data before its flag.
     */
    @Override
    public EpBackend open(OpenContext context) {
        return MappedGpus.open(context, RocmFacts.ALL, RocmOffer.DEVICE, RocmOffer::byPci);
    }
}
