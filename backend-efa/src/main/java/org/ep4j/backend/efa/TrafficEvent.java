package org.ep4j.backend.efa;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** What one pair of NICs has carried to a peer since it was connected; every few seconds, and at the end. */
@Name("org.ep4j.efa.Traffic")
@Label("libfabric traffic")
@Category({"ep4j"})
@Description("What one pair of NICs has carried to a peer since it was connected")
@StackTrace(false)
final class TrafficEvent extends Event {
    @Label("Rank")
    int rank;

    @Label("Peer")
    int peer;

    @Label("Rail")
    int rail;

    @Label("NICs")
    String nics = "";

    @Label("In use")
    boolean alive;

    @Label("Bytes written")
    @DataAmount
    long bytes;

    @Label("Writes")
    long writes;

    @Label("Counter advances")
    long advances;
}
