package org.ep4j.tck.oracle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.ep4j.EpArgumentException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class PatienceTest {
    @Test
    void limitsAreThoseOfTheKitUnlessTheVariableIsSet() {
        assertThat(Patience.factor(Map.of())).isEqualTo(1);
        assertThat(Patience.factor(Map.of(Patience.VARIABLE, "10"))).isEqualTo(10);
        assertThat(Patience.factor(Map.of(Patience.VARIABLE, "100"))).isEqualTo(100);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "-1", "1.5", "101", "x"})
    void otherFactorsAreRefused(String text) {
        assertThatThrownBy(() -> Patience.factor(Map.of(Patience.VARIABLE, text)))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining(Patience.VARIABLE);
    }
}
