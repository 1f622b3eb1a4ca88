package org.ep4j.backend.ibrc;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** What one queue pair has carried since it was made; every few seconds, and at the end. */
@Name("org.ep4j.ibrc.Traffic")
@Label("InfiniBand and RoCE traffic")
@Category({"ep4j"})
@Description("What one queue pair has carried since it was made")
@StackTrace(false)
final class TrafficEvent extends Event {
    @Label("Rank")
    int rank;

    @Label("Peer")
    int peer;

    @Label("Failovers")
    int failovers;

    @Label("Queue pair")
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

    @Label("Counter adds")
    long adds;

    @Label("Replays")
    long replays;
}
