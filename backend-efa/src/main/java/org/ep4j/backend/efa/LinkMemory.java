package org.ep4j.backend.efa;

/**
 * Where the {@link Records} of a link lie.
 *
 * @param records of this rank
 * @param here registration of them, with keys by rail
 * @param there registration of the peer's, with keys by rail
 */
record LinkMemory(Records records, Region here, Region there) {
    /** Posts a write from a place of this rank's to one of the peer's; gives 0, or a negated error number. */
    int control(Wire wire, int rail, int slot, long target, long source, int length, int immediate) {
        Keys to = there.keys().get(rail);
        Keys from = here.keys().get(rail);
        return wire.write(
                rail,
                to.target(there.address(), target),
                to.at(target),
                here.address() + source,
                from.at(source),
                length,
                slot,
                immediate);
    }

    /** Posts a write whose immediate alone matters. */
    int bare(Wire wire, int rail, int slot, int immediate) {
        return control(wire, rail, slot, Records.WORD, Records.WORD, Long.BYTES, immediate);
    }
}
