package org.ep4j.backend.efa;

import org.ep4j.transport.memory.HostMemory;

/**
 * The ends of batches, on both sides of a link. A batch is what is written to a peer up to and with one advance of a counter;
 * its record says how many writes it has and what is to be done once they have arrived. The source writes it to the place of
 * its own memory, and from there to the same place of the peer's.
 *
 * <p>First come the records of the peer, then those for the peer, then a word that is written to and from where only an
 * immediate matters: some providers never end a write of no bytes (shm), others want an address all the same (EFA).
 *
 * @param memory of this rank for one link
 * @param here registration of it, with keys by rail
 * @param there registration of the peer's, with keys by rail
 */
record Records(HostMemory memory, Region here, Region there) {
    /** Batches to a peer that may be under way, a power of two. */
    static final int COUNT = 256;

    /** Bytes of a record. */
    static final int SIZE = 32;

    /** Offset of the word that does not matter. */
    static final long WORD = 2L * COUNT * SIZE;

    /** Bytes for one link. */
    static final int BYTES = 2 * COUNT * SIZE + 64;

    /** A counter advances. */
    static final int ADVANCE = 0;

    /** The source closes a buffer, and writes to it no more. */
    static final int CLOSE = 1;

    /** Place of a batch. */
    static int place(long batch) {
        return (int) (batch & (COUNT - 1));
    }

    /** Offset of a record that comes from the peer, here and there. */
    static long in(int place) {
        return (long) place * SIZE;
    }

    /** Offset of a record for the peer. */
    static long out(int place) {
        return (long) (COUNT + place) * SIZE;
    }

    void put(long batch, int writes, int kind, int buffer, int counter, long value) {
        long at = out(place(batch));
        memory.putLong(at, batch);
        memory.putInt(at + 8, writes);
        memory.putInt(at + 12, kind);
        memory.putInt(at + 16, buffer);
        memory.putInt(at + 20, counter);
        memory.putLong(at + 24, value);
    }

    /** Posts the record of a batch, which {@link #put} has written; gives 0, or a negated error number. */
    int post(Wire wire, int rail, int slot, int place) {
        return write(wire, rail, slot, in(place), out(place), SIZE, Immediate.of(Immediate.RECORD, place));
    }

    /** Posts a write whose immediate alone matters; gives 0, or a negated error number. */
    int postBare(Wire wire, int rail, int slot, int immediate) {
        return write(wire, rail, slot, WORD, WORD, Long.BYTES, immediate);
    }

    private int write(Wire wire, int rail, int slot, long target, long source, int length, int immediate) {
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

    long batch(int place) {
        return memory.getLong(in(place));
    }

    int writes(int place) {
        return memory.getInt(in(place) + 8);
    }

    int kind(int place) {
        return memory.getInt(in(place) + 12);
    }

    int buffer(int place) {
        return memory.getInt(in(place) + 16);
    }

    int counter(int place) {
        return memory.getInt(in(place) + 20);
    }

    long value(int place) {
        return memory.getLong(in(place) + 24);
    }
}
