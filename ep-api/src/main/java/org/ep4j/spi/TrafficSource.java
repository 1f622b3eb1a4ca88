package org.ep4j.spi;

import java.util.List;

/** Capability of an {@link EpBackend} that counts what it sends. */
public interface TrafficSource {
    /** Traffic to each peer since the backend was opened, in the order of their ranks. Safe for use from several threads. */
    List<LinkTraffic> traffic();
}
