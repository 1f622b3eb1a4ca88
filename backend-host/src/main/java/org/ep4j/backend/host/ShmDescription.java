package org.ep4j.backend.host;

import java.util.List;
import java.util.Map;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.ProbeReport;

/** What the probe would report on a described machine: one kernel, one folder and one user for all ranks of a host. */
final class ShmDescription {
    private ShmDescription() {}

    static ProbeReport describe(DescribeRequest request) {
        return new ProbeReport(
                List.of(ShmProbe.device(request.device())),
                Map.of(ShmFacts.FOLDER, "/dev/shm"),
                Map.of(
                        ShmFacts.BOOT, request.hostId(),
                        ShmFacts.FOLDER_ID, request.hostId(),
                        ShmFacts.USER, "0"));
    }
}
