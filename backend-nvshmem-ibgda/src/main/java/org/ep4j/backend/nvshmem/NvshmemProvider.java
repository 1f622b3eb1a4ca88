package org.ep4j.backend.nvshmem;

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

/**
 * NVSHMEM, as backend {@value #ID}: GPUs post to ConnectX and BlueField NICs themselves, and store over NVLink on a host. A
 * process is one PE with one GPU, from the first group that uses it to its end; ranks may close in any order.
 */
public final class NvshmemProvider implements EpBackendProvider {
    /** Name of the backend. */
    public static final String ID = "nvshmem-ibgda";

    private final NvshmemOffer offers = new NvshmemOffer();

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public NvshmemProvider() {}

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
        return NvshmemKeys.all();
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        return NvshmemProbe.probe(request);
    }

    @Override
    public ProbeReport describe(RankProfile described, EpConfig config) {
        return NvshmemOffer.describe(described);
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return offers.between(from, to);
    }

    /**
     * {@inheritDoc}
     *
     * <p>Initialises NVSHMEM where the processes of the ranks have not done so together before.
     */
    @Override
    public EpBackend open(OpenContext context) {
        return new NvshmemOpener(context).open();
    }
}
