package org.ep4j.backend.efa;

import java.util.List;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SpiVersion;
import org.ep4j.transport.posted.PostedBackend;

/**
 * libfabric, as backend {@value #ID}: AWS Elastic Fabric Adapter, Slingshot, RDMA NICs, and TCP where nothing else is. It
 * posts from host threads, and relies on no order of what arrives: receivers count immediates. Closing waits up to two
 * seconds for what is under way to arrive, never for other ranks.
 */
public final class EfaProvider implements EpBackendProvider {
    /** Name of the backend. */
    public static final String ID = "efa";

    private final EfaOffer offers = new EfaOffer();

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public EfaProvider() {}

    @Override
    public String id() {
        return ID;
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(1, 0);
    }

    @Override
    public List<ConfigKey<?>> configKeys() {
        return EfaKeys.all();
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        return EfaProbe.probe(request);
    }

    @Override
    public ProbeReport describe(RankProfile described, EpConfig config) {
        return EfaOffer.describe(described, config);
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return offers.between(from, to);
    }

    /**
     * {@inheritDoc}
     *
     * <p>Connects all pairs of ranks that the plan connects by it, and starts a thread.
     */
    @Override
    public EpBackend open(OpenContext context) {
        return PostedBackend.open(ID, context, peers -> new EfaEndpoint(context, peers));
    }
}
