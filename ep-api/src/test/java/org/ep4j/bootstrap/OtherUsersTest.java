package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;

class OtherUsersTest {
    @Test
    void personsCountAndTheSystemAndOneselfDoNot() {
        assertThat(OtherUsers.among(Set.of(0, 33, 999, 1000), 1000)).isFalse();
        assertThat(OtherUsers.among(Set.of(0, 1000, 1001), 1000)).isTrue();
        assertThat(OtherUsers.among(Set.of(0, 65534), 0)).isTrue();
        assertThat(OtherUsers.among(Set.of(0, 1), 0)).isFalse();
    }
}
