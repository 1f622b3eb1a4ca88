package org.ep4j.backend.ibrc;

import java.util.List;

/** What an open backend of this kind has sent. The same is written every few seconds as events of the flight recorder. */
public interface TrafficSource {
    /** Traffic to each peer since the backend was opened, in the order of their ranks. Safe for use from several threads. */
    List<LinkTraffic> traffic();
}
