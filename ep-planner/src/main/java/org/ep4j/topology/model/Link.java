package org.ep4j.topology.model;

import org.ep4j.topology.LinkType;

/**
 * A link between two neighbouring parts; parallel links of one type are one link with the sum of their bandwidths.
 *
 * @param type kind of link
 * @param gigabytesPerSecond bandwidth of all of them together, one direction, in 1e9 bytes a second
 * @param count how many there are
 */
public record Link(LinkType type, double gigabytesPerSecond, int count) {
    Link plus(Link parallel) {
        return new Link(type, gigabytesPerSecond + parallel.gigabytesPerSecond, count + parallel.count);
    }
}
