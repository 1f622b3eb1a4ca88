package org.ep4j.tck.posted;

import java.util.List;
import java.util.Map;
import org.ep4j.config.ConfigKey;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;

/** Paths between emulated GPUs of this JVM whose kernels post: for pairs that a setting names, in the direction that it names. */
public final class PutThreadsProvider implements EpBackendProvider {
    static final String ID = "put-threads";

    /** This rank. */
    static final ConfigKey<Integer> RANK =
            ConfigKey.integer("ep.put-threads.rank", 0, 0, Integer.MAX_VALUE, "rank of this process");

    /** Which pairs have paths. */
    static final ConfigKey<String> PAIRS = ConfigKey.text(
                    "ep.put-threads.pairs", "", "pairs of ranks that get paths, such as 0>1 1>0")
            .agreedByAllRanks();

    @Override
    public String id() {
        return ID;
    }

    @Override
    public SpiVersion spiVersion() {
        return SpiVersion.CURRENT;
    }

    @Override
    public List<ConfigKey<?>> configKeys() {
        return List.of(RANK, PAIRS);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        return new ProbeReport(
                List.of(Check.pass("EP-TEST-003", "emulated GPUs share all memory of the host")),
                NamedPairs.facts(request.config().get(RANK), request.config().get(PAIRS)),
                Map.of());
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return NamedPairs.have(from.facts(ID), to.facts(ID))
                ? new PathOffer(PathKind.DEVICE_POSTED, 1e6, 0.001, List.of())
                : new NoPath("the pair is not named", "");
    }

    @Override
    public EpBackend open(OpenContext context) {
        return new PutThreadsBackend(context);
    }
}
