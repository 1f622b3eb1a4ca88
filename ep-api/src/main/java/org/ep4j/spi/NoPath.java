package org.ep4j.spi;

/**
 * A backend cannot connect a pair of ranks.
 *
 * @param reason why, with values
 * @param remedy what would make it possible; empty when nothing would
 */
public record NoPath(String reason, String remedy) implements Offer {}
