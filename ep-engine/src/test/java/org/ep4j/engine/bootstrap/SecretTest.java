package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.ep4j.engine.bootstrap.Handshake.Proof;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a key depends on, and that a secret is not printed. */
@Tag("verify")
final class SecretTest {
    private static final byte[] SALT = new byte[Secret.SALT_BYTES];

    private static String key(String text, byte[] salt, int iterations) {
        return HexFormat.of().formatHex(Secret.of(text).key(salt, iterations));
    }

    @Test
    void aKeyDependsOnSecretSaltAndIterations() {
        byte[] other = SALT.clone();
        other[Secret.SALT_BYTES - 1] = 1;
        String key = key("s", SALT, 10);
        assertThat(key).hasSize(2 * Proof.BYTES).isEqualTo(key("s", SALT, 10));
        assertThat(Arrays.asList(key("t", SALT, 10), key("s", other, 10), key("s", SALT, 11), key("", SALT, 10)))
                .doesNotContain(key)
                .doesNotHaveDuplicates();
    }

    @Test
    void keyOfConnectionDependsOnSaltsOfBothSides() {
        byte[] otherOfServer = SALT.clone();
        otherOfServer[0] = 1;
        byte[] ofMember = new byte[Proof.BYTES];
        byte[] otherOfMember = ofMember.clone();
        otherOfMember[Proof.BYTES - 1] = 1;
        Secret secret = Secret.of("s");
        byte[] key = Secret.connectionKey(secret.key(SALT, 10), ofMember);
        assertThat(key).hasSize(Proof.BYTES).isEqualTo(Secret.connectionKey(secret.key(SALT, 10), ofMember));
        assertThat(key)
                .isNotEqualTo(Secret.connectionKey(secret.key(otherOfServer, 10), ofMember))
                .isNotEqualTo(Secret.connectionKey(secret.key(SALT, 10), otherOfMember))
                .isNotEqualTo(secret.key(SALT, 10));
    }

    /** Some implementations of PBKDF2 use only the lower half of each character. */
    @Test
    void allBitsOfACharacterCount() {
        assertThat(key("\u0161", SALT, 10)).isNotEqualTo(key("a", SALT, 10)).isNotEqualTo(key("\u0261", SALT, 10));
    }

    @Test
    void theDefaultCostsAGuessTensOfMilliseconds() {
        assertThat(Secret.of("s").iterations()).isGreaterThanOrEqualTo(100_000).isLessThan(Secret.MAX_ITERATIONS);
        assertThat(Secret.of("").isEmpty()).isTrue();
    }

    @Test
    void aRandomKeyIsNotStretched() {
        String key = "0123456789abcdefABCDEF9876543210".repeat(2);
        assertThat(Secret.of(key).iterations()).isEqualTo(1);
        for (String text : List.of(key.substring(1), key + "0", key.substring(1) + "g")) {
            assertThat(Secret.of(text).iterations()).as(text).isEqualTo(Secret.ITERATIONS);
        }
    }

    @Test
    void isNotPrinted() {
        assertThat(Secret.of("hunter2")).hasToString("set");
        assertThat(Secret.NONE).hasToString("none");
        assertThat(new Rendezvous("", "host", 1, Secret.of("hunter2"), List.of()).toString())
                .doesNotContain("hunter2");
    }
}
