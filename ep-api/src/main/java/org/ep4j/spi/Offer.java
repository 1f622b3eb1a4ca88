package org.ep4j.spi;

/** What a backend says about one ordered pair of ranks: a path, or why there is none. */
public sealed interface Offer permits PathOffer, NoPath {}
