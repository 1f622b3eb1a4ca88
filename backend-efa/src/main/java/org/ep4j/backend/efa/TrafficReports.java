package org.ep4j.backend.efa;

import java.util.List;
import org.ep4j.spi.LinkTraffic;

/** Writes the traffic of all links as events of the flight recorder. For one thread at a time. */
final class TrafficReports {
    /** Between two reports. */
    private static final long PERIOD_NANOS = 5_000_000_000L;

    private final int rank;
    private final List<Link> links;
    private long next = System.nanoTime() + PERIOD_NANOS;

    TrafficReports(int rank, List<Link> links) {
        this.rank = rank;
        this.links = links;
    }

    /** Reports when it is time. */
    void tick() {
        if (System.nanoTime() - next >= 0) {
            next = System.nanoTime() + PERIOD_NANOS;
            report();
        }
    }

    void report() {
        if (!new TrafficEvent().isEnabled()) {
            return;
        }
        for (Link link : links) {
            LinkTraffic traffic = link.traffic();
            for (LinkTraffic.OfLane lane : traffic.lanes()) {
                TrafficEvent event = new TrafficEvent();
                event.rank = rank;
                event.peer = traffic.peer();
                event.rail = lane.lane();
                event.nics = lane.ports();
                event.alive = lane.alive();
                event.bytes = lane.bytes();
                event.writes = lane.writes();
                event.advances = lane.adds();
                event.commit();
            }
        }
    }
}
