package org.ep4j.bootstrap;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Keys of the rendezvous. The shared secret is stretched once for each group with a salt that rank 0 draws, and every key of
 * a connection is an HMAC under the result over random bytes of both sides. So a stranger costs the server one HMAC and
 * never a derivation, and no two connections share a key.
 */
final class Keys {
    /** Length of a nonce, a key and a proof in bytes. */
    static final int BYTES = 32;

    static final int SALT_BYTES = 16;

    /**
     * Rounds of PBKDF2. A member pays for them once, 50 to 100 ms, which vanishes in the start of a JVM; whoever recorded
     * a handshake pays for them with every guess.
     */
    private static final int ITERATIONS = 100_000;

    /** Groups whose keys a process remembers. */
    private static final int REMEMBERED = 8;

    private static final byte[] MEMO_KEY = random(BYTES);

    /** Memo of a pure function, so that the ranks of one process derive once; by a digest of secret and salt. */
    private static final Map<String, byte[]> STRETCHED = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, byte[]> eldest) {
            return size() > REMEMBERED;
        }
    };

    private Keys() {}

    static byte[] random(int bytes) {
        byte[] random = new byte[bytes];
        new SecureRandom().nextBytes(random);
        return random;
    }

    /**
     * The key that a secret stands for in one group. An empty secret is known to all, so it is not stretched. Members of one
     * process that come at once wait for the first of them.
     */
    static byte[] stretch(String secret, byte[] salt) {
        if (secret.isEmpty()) {
            return derive(new byte[BYTES], "no secret", salt);
        }
        String name =
                HexFormat.of().formatHex(derive(MEMO_KEY, "stretched", salt, secret.getBytes(StandardCharsets.UTF_8)));
        synchronized (STRETCHED) {
            byte[] key = STRETCHED.get(name);
            if (key == null) {
                key = pbkdf2(secret, salt);
                STRETCHED.put(name, key);
            }
            return key.clone();
        }
    }

    private static byte[] pbkdf2(String secret, byte[] salt) {
        PBEKeySpec spec = new PBEKeySpec(secret.toCharArray(), salt, ITERATIONS, BYTES * Byte.SIZE);
        try {
            return SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256")
                    .generateSecret(spec)
                    .getEncoded();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no PBKDF2WithHmacSHA256, which every Java must have", e);
        } finally {
            spec.clearPassword();
        }
    }

    /** The key, or proof, for one purpose: HMAC-SHA256 under {@code key} over the purpose and parts of fixed length. */
    static byte[] derive(byte[] key, String purpose, byte[]... parts) {
        Mac mac = mac(key);
        mac.update(purpose.getBytes(StandardCharsets.US_ASCII));
        mac.update((byte) 0);
        for (byte[] part : parts) {
            mac.update(part);
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
