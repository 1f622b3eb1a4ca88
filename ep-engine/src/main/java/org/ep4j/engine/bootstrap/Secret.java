package org.ep4j.engine.bootstrap;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.regex.Pattern;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/**
 * The secret that the ranks of a job share; may be empty. {@link #toString} does not show it.
 *
 * @param iterations of PBKDF2 by which the server of a rendezvous and its members derive their key
 */
record Secret(String text, int iterations) {
    /** No secret: every process that can connect may join. */
    static final Secret NONE = new Secret("", 1);

    static final int SALT_BYTES = 16;

    /** Iterations of PBKDF2 with HMAC-SHA256: about 0.1 s for the ranks of a job, and for each guess of a process that connects. */
    static final int ITERATIONS = 120_000;

    /** Hexadecimal digits of a key of 256 bits, as {@code openssl rand -hex 32} prints. */
    private static final Pattern KEY = Pattern.compile("[0-9a-fA-F]{64}");

    /** Most iterations that a member does for a server, which may be false. */
    static final int MAX_ITERATIONS = 1_000_000;

    /** Creates a secret of the settings. A random key of 256 bits needs no iterations, since it cannot be guessed. */
    static Secret of(String text) {
        return of(text, KEY.matcher(text).matches() ? 1 : ITERATIONS);
    }

    /** Creates a secret with a given number of iterations. */
    static Secret of(String text, int iterations) {
        return text.isEmpty() ? NONE : new Secret(text, iterations);
    }

    boolean isEmpty() {
        return text.isEmpty();
    }

    /**
     * Derives the key of a rendezvous.
     *
     * @param salt of the server, random for each rendezvous, so that keys cannot be computed beforehand
     * @param count iterations of PBKDF2 that the server requires
     */
    byte[] key(byte[] salt, int count) {
        try {
            // A digest, since PBKDF2 takes characters, of which some Javas use only the lower half.
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            if (isEmpty()) {
                return digest;
            }
            char[] password = HexFormat.of().formatHex(digest).toCharArray();
            PBEKeySpec spec = new PBEKeySpec(password, salt, count, 8 * Handshake.Proof.BYTES);
            return SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256")
                    .generateSecret(spec)
                    .getEncoded();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no PBKDF2WithHmacSHA256, which every Java must have", e);
        }
    }

    /**
     * Derives the key of one connection, for the proofs of both sides and the keys of its records: the {@link #key} of the rendezvous
     * mixed with the {@linkplain Handshake.Hello#salt salt} of the member by one HMAC, so that a foreign connection costs the server no
     * more than that.
     */
    static byte[] connectionKey(byte[] key, byte[] memberSalt) {
        return Handshake.Proof.CONNECTION.of(key, memberSalt);
    }

    @Override
    public String toString() {
        return isEmpty() ? "none" : "set";
    }
}
