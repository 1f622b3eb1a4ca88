package org.ep4j.bootstrap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import javax.crypto.Mac;

/**
 * Authenticates the frames of one direction of a connection: HMAC-SHA256, cut to 16 bytes, over the frame's number, length,
 * type and the digest of its body. Used by one thread.
 */
final class Seal {
    static final int BYTES = 16;

    /** Numbers around the expected one that are tried to name what happened. */
    private static final int WINDOW = 64;

    private final Mac mac;
    private long sequence;

    Seal(byte[] key) {
        this.mac = Keys.mac(key);
    }

    /** Seal of the next frame. */
    byte[] next(int length, int type, byte[] digest) {
        return of(sequence++, length, type, digest);
    }

    /** Checks the seal of the next frame. */
    void check(int length, int type, byte[] digest, byte[] seal) throws IOException {
        if (!Keys.same(of(sequence, length, type, digest), seal)) {
            throw new IOException(fault(length, type, digest, seal)
                    + "; somebody between the two sides interferes, or one of them is broken");
        }
        sequence++;
    }

    private String fault(int length, int type, byte[] digest, byte[] seal) {
        for (long other = Math.max(0, sequence - WINDOW); other < sequence + WINDOW; other++) {
            if (Keys.same(of(other, length, type, digest), seal)) {
                return other < sequence
                        ? "message " + other + " was repeated where message " + sequence + " was due"
                        : "message " + sequence + " was dropped or reordered, since message " + other + " came first";
            }
        }
        return "message " + sequence + " was changed on the way";
    }

    private byte[] of(long number, int length, int type, byte[] digest) {
        mac.update(ByteBuffer.allocate(13)
                .putLong(number)
                .putInt(length)
                .put((byte) type)
                .array());
        return Arrays.copyOf(mac.doFinal(digest), BYTES);
    }
}
