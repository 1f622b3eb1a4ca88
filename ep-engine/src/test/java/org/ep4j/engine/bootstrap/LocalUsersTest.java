package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whose processes count as another person's. */
@Tag("verify")
final class LocalUsersTest {
    @ParameterizedTest
    @CsvSource({
        "0, false",
        "999, false",
        "1000, false",
        "1001, true",
        "60000, true",
        "60513, true",
        "60514, false",
        "65534, false",
        "65535, false",
        "65536, true",
        "1234567, true"
    })
    void peopleAreKnownByTheirNumbers(int user, boolean other) {
        assertThat(LocalUsers.isOtherPerson(user, 1000, "a", List.of())).isEqualTo(other);
    }

    @Test
    void theUsersOfItsOwnContainersAreNotOthers() {
        List<String> subordinate = List.of("a:100000:65536", "b:165536:65536", "1000:300000:10", "c:x:1", "");
        assertThat(LocalUsers.isOtherPerson(100_000, 1000, "a", subordinate)).isFalse();
        assertThat(LocalUsers.isOtherPerson(165_535, 1000, "a", subordinate)).isFalse();
        assertThat(LocalUsers.isOtherPerson(165_536, 1000, "a", subordinate)).isTrue();
        assertThat(LocalUsers.isOtherPerson(300_009, 1000, "a", subordinate)).isFalse();
        assertThat(LocalUsers.isOtherPerson(300_010, 1000, "a", subordinate)).isTrue();
    }
}
