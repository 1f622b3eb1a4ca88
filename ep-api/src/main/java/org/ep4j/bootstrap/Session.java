package org.ep4j.bootstrap;

/**
 * What both sides of a handshake have agreed on once the nonces are exchanged: proofs and frame keys come from it.
 *
 * @param key stretched secret of the group, or its failover key
 * @param hello first message of the member, with its nonces
 * @param serverNonce random bytes of the server
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
record Session(byte[] key, Hello hello, byte[] serverNonce) {
    byte[] memberProof() {
        return Keys.derive(key, "member", hello.bytes(), serverNonce);
    }

    /** Covers the terms too, so that nobody changes them on the way. */
    byte[] serverProof(byte[] terms) {
        return Keys.derive(key, "server", hello.bytes(), serverNonce, terms);
    }

    /** Seal of the frames that the member sends. */
    Seal up() {
        return new Seal(Keys.derive(key, "frames of the member", hello.bytes(), serverNonce));
    }

    /** Seal of the frames that the server sends. */
    Seal down() {
        return new Seal(Keys.derive(key, "frames of the server", hello.bytes(), serverNonce));
    }

    @Override
    public String toString() {
        return "session of rank " + hello.rank();
    }
}
