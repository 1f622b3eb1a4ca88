package org.ep4j.backend.rocm;

import java.util.List;
import java.util.Map;
import org.ep4j.engine.driver.PeerFacts;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.ProbeReport;
import org.ep4j.topology.Locality;

/** What the probe would report on a described machine: one container and one user for all ranks of a host, all GPUs theirs. */
final class RocmDescription {
    private RocmDescription() {}

    static ProbeReport describe(DescribeRequest request) {
        Locality around = request.locality();
        return new ProbeReport(
                List.of(RocmProbe.device(request.device())),
                Map.of(
                        PeerFacts.GPU,
                        PeerFacts.describedGpu(around.gpu()),
                        PeerFacts.GPUS,
                        PeerFacts.describedGpus(around),
                        PeerFacts.INTERPROCESS,
                        PeerFacts.YES,
                        PeerFacts.ARCHITECTURE,
                        around.architecture()),
                Map.of(PeerFacts.PIDS, request.hostId(), PeerFacts.USER, "0"));
    }
}
