package org.ep4j.engine.collective;

import java.util.List;
import java.util.function.Supplier;
import jdk.jfr.FlightRecorder;
import org.ep4j.spi.LinkTraffic;
import org.ep4j.spi.NanoClock;

/** Writes the traffic of all links of a rank as events {@code org.ep4j.Traffic} of the flight recorder. For one thread at a time. */
public final class TrafficReports {
    /** Between two reports. */
    private static final long PERIOD_NANOS = 5_000_000_000L;

    private final String backend;
    private final int rank;
    private final Supplier<List<LinkTraffic>> traffic;
    private final NanoClock clock;
    private long next;

    /**
     * The first report is due in 5 seconds.
     *
     * @param backend its id
     * @param traffic of all links; asked for where somebody records
     */
    public TrafficReports(String backend, int rank, Supplier<List<LinkTraffic>> traffic) {
        this(backend, rank, traffic, NanoClock.SYSTEM);
    }

    /** The same on another clock. */
    TrafficReports(String backend, int rank, Supplier<List<LinkTraffic>> traffic, NanoClock clock) {
        this.backend = backend;
        this.rank = rank;
        this.traffic = traffic;
        this.clock = clock;
        this.next = clock.nanoTime() + PERIOD_NANOS;
    }

    /** Reports when it is time. */
    public void tick() {
        long now = clock.nanoTime();
        if (now - next >= 0) {
            next = now + PERIOD_NANOS;
            report();
        }
    }

    /**
     * Reports now, where the flight recorder runs. Elsewhere the class of the event is not even loaded: the first one of a
     * process costs a tenth of a second, and whoever calls this has a link to see to.
     */
    public void report() {
        if (FlightRecorder.isInitialized() && new TrafficEvent().isEnabled()) {
            for (LinkTraffic link : traffic.get()) {
                link.lanes()
                        .forEach(lane ->
                                TrafficEvent.of(backend, rank, link, lane).commit());
            }
        }
    }
}
