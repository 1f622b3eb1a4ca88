package org.ep4j.engine.bootstrap;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.regex.Pattern;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/** The secret that the ranks of a job share; may be empty. {@link #toString} does not show it. */
final class Secret {
    /** No secret: every process that can connect may join. */
    static final Secret NONE = new Secret("", 1);

    static final int SALT_BYTES = 16;

    /** Iterations of PBKDF2 with HMAC-SHA256: about 0.1 s for the ranks of a job, and for each guess of someone who can reach the port. */
    static final int ITERATIONS = 120_000;

    /** Hexadecimal digits of a key of 256 bits, as {@code openssl rand -hex 32} prints. */
    private static final Pattern KEY = Pattern.compile("[0-9a-fA-F]{64}");

    /** Most iterations that a member does for a server, which may be a false one. */
    static final int MAX_ITERATIONS = 1_000_000;

    private final String text;
    private final int iterations;

    private Secret(String text, int iterations) {
        this.text = text;
        this.iterations = iterations;
    }

    /** A secret as the settings have it. A random key needs no iterations: nobody guesses one of 2^256. */
    static Secret of(String text) {
        return of(text, KEY.matcher(text).matches() ? 1 : ITERATIONS);
    }

    /** A secret from which keys are derived by another number of iterations. */
    static Secret of(String text, int iterations) {
        return text.isEmpty() ? NONE : new Secret(text, iterations);
    }

    /** Iterations by which the server of a rendezvous derives its key, and tells members to. */
    int iterations() {
        return iterations;
    }

    boolean isEmpty() {
        return text.isEmpty();
    }

    /** The secret itself, for launchers that hand it on. */
    String text() {
        return text;
    }

    /**
     * Derives the key of a rendezvous.
     *
     * @param salt of the server, random for each rendezvous, so that nobody can have computed keys beforehand
     * @param count iterations of PBKDF2, as the server says
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
     * Derives the key of one connection, which proves that both sides know the secret and from which the keys of its records are derived. It is the
     * key of the rendezvous mixed with the salt of the member by one HMAC: the server does not stretch the secret again for a stranger.
     *
     * @param key of the rendezvous: {@link #key}
     * @param memberSalt of this attempt: {@link Handshake.Hello#salt}
     */
    static byte[] connectionKey(byte[] key, byte[] memberSalt) {
        return Handshake.Proof.CONNECTION.of(key, memberSalt);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Secret secret && text.equals(secret.text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return isEmpty() ? "none" : "set";
    }
}
