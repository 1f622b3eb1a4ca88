package org.ep4j.backend.host;

import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;

/** What the probe would report on a described machine: one kernel, one folder and one user for all ranks of a host. */
final class ShmDescription {
    private ShmDescription() {}

    static ProbeReport describe(RankProfile rank) {
        return ProbeReport.builder()
                .check(ShmProbe.device(rank.device()))
                .fact(ShmFacts.FOLDER, "/dev/shm")
                .identity(ShmFacts.BOOT, rank.hostId())
                .identity(ShmFacts.FOLDER_ID, rank.hostId())
                .identity(ShmFacts.USER, "0")
                .build();
    }
}
