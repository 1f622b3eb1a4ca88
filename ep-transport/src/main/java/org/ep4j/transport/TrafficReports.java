package org.ep4j.transport;

import java.util.List;
import java.util.function.Supplier;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.ep4j.EpTraffic;

/** Writes the traffic of all links of a rank as events {@code org.ep4j.Traffic} of the flight recorder. For one thread at a time. */
public final class TrafficReports {
    /** Time between two reports. */
    private static final long PERIOD_NANOS = 5_000_000_000L;

    private final int rank;
    private final Supplier<List<EpTraffic>> traffic;
    private final NanoClock clock;
    private long next;

    /**
     * The first report is due in 5 seconds.
     *
     * @param traffic of all links; asked for where somebody records
     */
    public TrafficReports(int rank, Supplier<List<EpTraffic>> traffic) {
        this(rank, traffic, NanoClock.SYSTEM);
    }

    /** The same on another clock. */
    TrafficReports(int rank, Supplier<List<EpTraffic>> traffic, NanoClock clock) {
        this.rank = rank;
        this.traffic = traffic;
        this.clock = clock;
        this.next = clock.nanoTime() + PERIOD_NANOS;
    }

    /** Reports if it is due. */
    public void tick() {
        long now = clock.nanoTime();
        if (now - next >= 0) {
            next = now + PERIOD_NANOS;
            report();
        }
    }

    /**
     * Reports now if the flight recorder runs. If it does not, the class of the event is not even loaded: the first one of a
     * process costs a tenth of a second, which would delay the progress of links.
     */
    public void report() {
        if (FlightRecorder.isInitialized() && new TrafficEvent().isEnabled()) {
            for (EpTraffic link : traffic.get()) {
                link.lanes().forEach(lane -> TrafficEvent.of(rank, link, lane).commit());
            }
        }
    }

    /** A {@link EpTraffic.Lane} in the flight recorder; every few seconds, and at the end. */
    @Name("org.ep4j.Traffic")
    @Label("Traffic over NICs")
    @Category({"ep4j"})
    @Description("Data that one lane has carried to a peer since the lane was created")
    @StackTrace(false)
    static final class TrafficEvent extends Event {
        @Label("Backend")
        String backend = "";

        @Label("Rank")
        int rank;

        @Label("Peer")
        int peer;

        @Label("Failovers")
        int failovers;

        @Label("Lane")
        int lane;

        @Label("Ports")
        String ports = "";

        @Label("In use")
        boolean alive;

        @Label("Bytes written")
        @DataAmount
        long bytes;

        @Label("Writes")
        long writes;

        @Label("Counter advances")
        long adds;

        @Label("Replays")
        long replays;

        static TrafficEvent of(int rank, EpTraffic link, EpTraffic.Lane carried) {
            TrafficEvent event = new TrafficEvent();
            event.backend = link.backend();
            event.rank = rank;
            event.peer = link.peer();
            event.failovers = link.failovers();
            event.lane = carried.index();
            event.ports = carried.ports();
            event.alive = carried.alive();
            event.bytes = carried.bytes();
            event.writes = carried.writes();
            event.adds = carried.signals();
            event.replays = carried.replays();
            return event;
        }
    }
}
