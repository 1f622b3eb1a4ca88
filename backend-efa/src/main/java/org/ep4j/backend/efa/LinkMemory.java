package org.ep4j.backend.efa;

/**
 * Where the {@link Records} of a link lie.
 *
 * @param records of this rank
 * @param here registration of them, with keys by rail
 * @param there registration of the peer's, with keys by rail
 */
record LinkMemory(Records records, Region here, Region there) {}
