package org.ep4j.plan;

import java.util.List;

/**
 * The NIC ports that a rank was assigned for one backend.
 *
 * @param ports as {@code name:port}, lanes go around them in this order
 * @param reason why these; names no rank and no host
 */
record NicShare(List<String> ports, String reason) {
    static final NicShare NONE = new NicShare(List.of(), "");

    NicShare {
        ports = List.copyOf(ports);
    }
}
