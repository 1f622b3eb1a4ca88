package org.ep4j.backend.nvlink;

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
 * Memory of NVIDIA GPUs mapped into each other, as backend {@value #ID}. Between processes of a host it needs one user and one
 * PID namespace, and every GPU in the container of every rank; between hosts an NVLink domain with an IMEX channel. Ranks may
 * close, and die, in any order.
 */
public final class IpcNvlinkProvider implements EpBackendProvider {
    /** Name of the backend. */
    public static final String ID = "ipc-nvlink";

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public IpcNvlinkProvider() {}

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
        return NvlinkProbe.probe(request);
    }

    @Override
    public ProbeReport describe(DescribeRequest request) {
        return NvlinkDescription.describe(request);
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return NvlinkOffer.between(from, to);
    }

    /**
     * {@inheritDoc}
     *
     * <p>Pairs of GPUs that PCIe joins are tested here, and opening fails where PCIe does not keep data before its flag.
     */
    @Override
    public EpBackend open(OpenContext context) {
        return MappedGpus.open(context, NvlinkFacts.ALL, "cuda", NvlinkOffer::byPci);
    }
}
