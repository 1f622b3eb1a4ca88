package org.ep4j.topology;

/**
 * The best way between two devices of one machine.
 *
 * @param type how near they are
 * @param gigabytesPerSecond bandwidth of the narrowest link of it, one direction, in 1e9 bytes a second; 0 when the
 *     source of the topology does not say
 * @param hops links on the way; 0 when the source does not say
 */
public record Distance(PathType type, double gigabytesPerSecond, int hops) {}
