package org.ep4j.bootstrap;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Shows that both sides of a handshake know the secret, without sending it: HMAC-SHA256, under a key derived from it, over everything that was
 * said. The name of the side that proves goes in, so that no message can be sent back as another one.
 */
final class Proof {
    /** Bytes of a nonce, a member's salt, a proof and a key. */
    static final int BYTES = 32;

    private Proof() {}

    /** What an HMAC is for. */
    enum Purpose {
        /** Key of one connection. */
        CONNECTION,
        /** Proof of the server on rank 0, which comes first: a member says nothing that depends on the secret to one that does not know it. */
        SERVER,
        /** Proof of a rank that joins. */
        MEMBER,
        /** Proof of what the server says when it lets the member in. */
        ACCEPTED,
        /** Key of what the member sends afterwards. */
        FROM_MEMBER,
        /** Key of what the server sends afterwards. */
        FROM_SERVER
    }

    static byte[] nonce() {
        return random(BYTES);
    }

    static byte[] random(int bytes) {
        byte[] random = new byte[bytes];
        new SecureRandom().nextBytes(random);
        return random;
    }

    /**
     * One HMAC.
     *
     * @param key derived from the secret; the key of the connection for all purposes but {@link Purpose#CONNECTION}
     * @param said what was said in the handshake before
     */
    static byte[] of(byte[] key, Purpose purpose, byte[]... said) {
        Mac mac = mac(key);
        mac.update(purpose.name().getBytes(StandardCharsets.US_ASCII));
        for (byte[] one : said) {
            for (int shift = 24; shift >= 0; shift -= 8) {
                mac.update((byte) (one.length >> shift));
            }
            mac.update(one);
        }
        return mac.doFinal();
    }

    static Mac mac(byte[] key) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no HmacSHA256, which every Java must have", e);
        }
    }

    /** Compares in a time that does not depend on where the first difference is. */
    static boolean same(byte[] a, byte[] b) {
        return MessageDigest.isEqual(a, b);
    }
}
