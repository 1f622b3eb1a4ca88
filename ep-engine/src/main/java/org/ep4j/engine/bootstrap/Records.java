package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Optional;
import javax.crypto.Mac;

/**
 * Record layer of one direction of a connection: 2 bytes length, payload, 16 bytes of an HMAC-SHA256 over the number of the record, its
 * length and its payload. The number is not sent, so a record that was changed, dropped, repeated or reordered is detected. One thread
 * at a time.
 */
final class Records {
    /** Most bytes of a payload: small, so that a length which was changed in transit does not make the receiver wait for long. */
    static final int MAX_PAYLOAD = 16 << 10;

    private static final int HEAD_BYTES = 2;
    private static final int TAG_BYTES = 16;

    static final int MAX_BYTES = HEAD_BYTES + MAX_PAYLOAD + TAG_BYTES;

    private final Mac mac;
    private long number;

    Records(byte[] key) {
        mac = Handshake.Proof.mac(key);
    }

    /** Appends the next record to {@code out}, which has room for it. */
    void seal(byte[] payload, int length, ByteBuffer out) {
        byte[] tag = tag(payload, length);
        out.putShort((short) length).put(payload, 0, length).put(tag, 0, TAG_BYTES);
    }

    /**
     * Reads the next record from {@code in}, if it has all of it.
     *
     * @return a copy of the payload; empty if the record is incomplete
     * @throws IOException if the record is not authentic
     */
    Optional<byte[]> open(ByteBuffer in) throws IOException {
        if (in.remaining() < HEAD_BYTES) {
            return Optional.empty();
        }
        int length = Short.toUnsignedInt(in.getShort(in.position()));
        if (length == 0 || length > MAX_PAYLOAD) {
            throw new IOException("the length of record " + number + " is " + length + ", must be in [1, " + MAX_PAYLOAD
                    + "]; the record was changed in transit");
        }
        if (in.remaining() < HEAD_BYTES + length + TAG_BYTES) {
            return Optional.empty();
        }
        byte[] payload = new byte[length];
        byte[] tag = new byte[TAG_BYTES];
        in.getShort();
        in.get(payload).get(tag);
        long found = number;
        if (!MessageDigest.isEqual(tag, Arrays.copyOf(tag(payload, length), TAG_BYTES))) {
            throw new IOException("record " + found
                    + " is not authentic; somebody between the ranks has changed, dropped, repeated or reordered data");
        }
        return Optional.of(payload);
    }

    private byte[] tag(byte[] payload, int length) {
        mac.update(ByteBuffer.allocate(Long.BYTES + HEAD_BYTES)
                .putLong(number++)
                .putShort((short) length)
                .flip());
        mac.update(payload, 0, length);
        return mac.doFinal();
    }
}
