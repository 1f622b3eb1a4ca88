package org.ep4j.backend.ibrc;

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
 * InfiniBand and RoCE through libibverbs, as backend {@value #ID}: reliable connections over one or more ports and several
 * queue pairs to each peer, posted to by host threads. A port that fails is replaced by the others, without loss or
 * repetition. Closing waits up to two seconds for NICs to acknowledge what is under way, and half a second for other ranks to close
 * each buffer, too.
 */
public final class IbrcProvider implements EpBackendProvider {
    /** Name of the backend. */
    public static final String ID = "ibrc-multiqp";

    private final IbrcOffer offers = new IbrcOffer();

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public IbrcProvider() {}

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
        return IbrcKeys.all();
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        return IbrcProbe.probe(request);
    }

    @Override
    public ProbeReport describe(RankProfile described, EpConfig config) {
        return IbrcOffer.describe(described);
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return offers.between(from, to);
    }

    /**
     * {@inheritDoc}
     *
     * <p>Connects all pairs of ranks that the plan connects by it, and starts a thread for each device.
     */
    @Override
    public EpBackend open(OpenContext context) {
        return PostedBackend.open(ID, context, peers -> new IbrcEndpoint(context, peers));
    }
}
