package org.ep4j.bootstrap;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Shows that both sides of a handshake know the secret, without sending it: HMAC-SHA256 over everything that was said. The
 * role goes in, so that neither side can send the other's proof back.
 */
final class Proof {
    /** Length of a nonce and of a proof in bytes. */
    static final int BYTES = 32;

    private Proof() {}

    /** Who proves. */
    enum Role {
        /** A rank that joins. */
        MEMBER,
        /** The server on rank 0. */
        SERVER
    }

    static byte[] nonce() {
        byte[] nonce = new byte[BYTES];
        new SecureRandom().nextBytes(nonce);
        return nonce;
    }

    /**
     * The proof of one side.
     *
     * @param timing what the server sends along with its proof; empty for a member
     */
    static byte[] of(String secret, Role role, Hello hello, byte[] serverNonce, byte[] timing) {
        try {
            // A digest, since a key may not be empty but a secret may.
            byte[] key = MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8));
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update(role.name().getBytes(StandardCharsets.US_ASCII));
            mac.update(hello.bytes());
            mac.update(serverNonce);
            mac.update(ByteBuffer.allocate(4).putInt(timing.length).array());
            mac.update(timing);
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no HmacSHA256, which every Java must have", e);
        }
    }

    /** Compares in a time that does not depend on where the first difference is. */
    static boolean same(byte[] a, byte[] b) {
        return MessageDigest.isEqual(a, b);
    }
}
