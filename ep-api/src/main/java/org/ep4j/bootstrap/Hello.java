package org.ep4j.bootstrap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * The first message of a member. Six bytes, the same in every version of the protocol, then what this version has.
 *
 * @param version of the protocol
 * @param rank that the member claims
 * @param size number of ranks that it knows
 * @param secret true when it has a secret
 * @param salt random bytes, new in each attempt; the member's salt in {@link Secret#connectionKey}
 * @param process random bytes that are the same in all attempts of one join, so that a later one can take the place of an earlier
 * @param attempt number of this attempt; each attempt of a join has a greater one than those before
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
record Hello(int version, int rank, int size, boolean secret, byte[] salt, byte[] process, int attempt) {
    /** "EP4J". */
    static final int MAGIC = 0x4550344a;

    static final int VERSION = 5;

    /** Bytes that say protocol and version. */
    static final int PREFIX_BYTES = 6;

    /** Bytes that follow the prefix in this version. */
    static final int REST_BYTES = 4 + 4 + 1 + 2 * Proof.BYTES + 4;

    byte[] bytes() {
        return ByteBuffer.allocate(PREFIX_BYTES + REST_BYTES)
                .putInt(MAGIC)
                .putShort((short) version)
                .putInt(rank)
                .putInt(size)
                .put((byte) (secret ? 1 : 0))
                .put(salt)
                .put(process)
                .putInt(attempt)
                .array();
    }

    /**
     * The version that a prefix says.
     *
     * @throws IOException when it is not this protocol at all
     */
    static int version(byte[] prefix) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(prefix);
        if (buffer.getInt() != MAGIC) {
            throw new IOException("the other side does not speak the rendezvous protocol (its first bytes: "
                    + HexFormat.ofDelimiter(" ").formatHex(prefix) + ")");
        }
        return Short.toUnsignedInt(buffer.getShort());
    }

    static Hello parse(int version, byte[] rest) {
        ByteBuffer buffer = ByteBuffer.wrap(rest);
        int rank = buffer.getInt();
        int size = buffer.getInt();
        boolean secret = buffer.get() != 0;
        byte[] salt = new byte[Proof.BYTES];
        buffer.get(salt);
        byte[] process = new byte[Proof.BYTES];
        buffer.get(process);
        return new Hello(version, rank, size, secret, salt, process, buffer.getInt());
    }
}
