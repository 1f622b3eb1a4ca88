package org.ep4j.backend.host;

import java.util.List;
import java.util.Map;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.Staging;
import org.ep4j.spi.Check;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.ProbeReport;

/** What the probe would report on a described machine: one kernel, one folder and one user for all ranks of a host. */
final class ShmDescription {
    private ShmDescription() {}

    static ProbeReport describe(DescribeRequest request) {
        String type = request.device().type();
        Check device = type.equals("host")
                ? Check.pass(ShmProbe.DEVICE, "device host")
                : Check.warn(
                        ShmProbe.DEVICE,
                        "device " + type + " is not the host: its bytes would take a detour through host memory",
                        "prefer a backend for " + type);
        return new ProbeReport(
                List.of(device),
                Map.of(ShmFacts.FOLDER, "/dev/shm"),
                Map.of(
                        ShmFacts.BOOT, request.hostId(),
                        ShmFacts.FOLDER_ID, request.hostId(),
                        ShmFacts.USER, "0"));
    }

    /** An offer between two devices: those that are not the host take the detour. */
    static Offer ofDevices(RankProfile from, RankProfile to, Offer offer) {
        return offer instanceof PathOffer path && !(onHost(from) && onHost(to)) ? Staging.through(path) : offer;
    }

    private static boolean onHost(RankProfile profile) {
        return profile.device().type().equals("host");
    }
}
