package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.api.Test;

final class SealTest {
    private static final byte[] DIGEST = {1, 2, 3};
    private final byte[] key = Keys.random(Keys.BYTES);
    private final Seal sender = new Seal(key);
    private final Seal receiver = new Seal(key);

    private byte[] next() {
        return sender.next(5, 1, DIGEST);
    }

    @Test
    void messagesInOrderPass() throws IOException {
        for (int i = 0; i < 200; i++) {
            receiver.check(5, 1, DIGEST, next());
        }
    }

    @Test
    void everyPartOfAMessageIsCovered() {
        byte[] seal = next();
        assertThatThrownBy(() -> receiver.check(6, 1, DIGEST, seal)).hasMessageStartingWith("message 0 was changed");
        assertThatThrownBy(() -> receiver.check(5, 2, DIGEST, seal)).hasMessageStartingWith("message 0 was changed");
        assertThatThrownBy(() -> receiver.check(5, 1, new byte[] {1, 2, 4}, seal))
                .hasMessageStartingWith("message 0 was changed");
        seal[Seal.BYTES - 1] ^= 1;
        assertThatThrownBy(() -> receiver.check(5, 1, DIGEST, seal)).hasMessageStartingWith("message 0 was changed");
    }

    @Test
    void aRepeatedMessageIsNamed() throws IOException {
        byte[] first = next();
        receiver.check(5, 1, DIGEST, first);
        assertThatThrownBy(() -> receiver.check(5, 1, DIGEST, first))
                .hasMessageStartingWith("message 0 was repeated where message 1 was due");
    }

    @Test
    void aMissingMessageIsNamed() {
        next();
        byte[] second = next();
        assertThatThrownBy(() -> receiver.check(5, 1, DIGEST, second))
                .hasMessageStartingWith("message 0 was dropped or reordered, since message 1 came first");
    }

    @Test
    void anotherKeySealsNothing() {
        byte[] seal = new Seal(Keys.random(Keys.BYTES)).next(5, 1, DIGEST);
        assertThatThrownBy(() -> receiver.check(5, 1, DIGEST, seal)).hasMessageStartingWith("message 0 was changed");
    }
}
