package org.ep4j.spi;

/**
 * Answer of a backend that cannot connect a pair of ranks: the reason and a remedy.
 *
 * @param reason why, with values
 * @param remedy what would make it possible; empty when nothing would
 */
public record NoPath(String reason, String remedy) implements Offer {}
