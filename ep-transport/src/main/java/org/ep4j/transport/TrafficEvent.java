package org.ep4j.transport;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.ep4j.EpTraffic;

/** A {@link EpTraffic.Lane} in the flight recorder; every few seconds, and at the end. */
@Name("org.ep4j.Traffic")
@Label("Traffic over NICs")
@Category({"ep4j"})
@Description("Data that one lane has carried to a peer since the lane was created")
@StackTrace(false)
final class TrafficEvent extends Event {
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
