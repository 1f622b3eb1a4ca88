package org.ep4j.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class InterfacePatternTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "eth; eth0; true",
                "eth; ib0; false",
                "eth1; eth10; true",
                "=eth1; eth10; false",
                "eth, ib; ib0; true",
                "=eth0,ib0; ib0; true",
                "^docker,lo; docker0; false",
                "^docker,lo; eth0; true",
                "^=eth0; eth0; false",
                "^=eth0; eth0.100; true",
            })
    void aListMeansTheseInterfaces(String text, String name, boolean expected) {
        assertThat(InterfacePattern.parse(text).matches(name)).isEqualTo(expected);
    }

    @Test
    void aMarkTurnsTheMeaningRoundAndNamesAreTakenOneByOne() {
        Random random = new Random(1);
        for (int round = 0; round < 2000; round++) {
            List<String> names = new ArrayList<>();
            for (int i = 0; i <= random.nextInt(3); i++) {
                names.add(name(random));
            }
            String name = name(random);
            String exact = random.nextBoolean() ? "=" : "";
            String list = exact + String.join(",", names);
            boolean any = names.stream()
                    .anyMatch(item -> InterfacePattern.parse(exact + item).matches(name));
            assertThat(InterfacePattern.parse(list).matches(name)).as(list).isEqualTo(any);
            assertThat(InterfacePattern.parse("^" + list).matches(name))
                    .as(list)
                    .isEqualTo(!any);
            assertThat(InterfacePattern.parse("=" + name).matches(name)).isTrue();
            assertThat(InterfacePattern.parse(name).matches(name + "x")).isTrue();
            assertThat(InterfacePattern.parse("=" + name).matches(name + "x")).isFalse();
        }
    }

    private static String name(Random random) {
        return List.of("eth", "ib", "en", "e").get(random.nextInt(4)) + random.nextInt(12);
    }

    @ParameterizedTest
    @ValueSource(strings = {"^", "=", "^=", ",", "^ , "})
    void aListThatNamesNothingIsRefused(String text) {
        EpConfig config = EpConfig.builder(Map.of(), Map.of("EP_BOOTSTRAP_INTERFACE", text))
                .build();
        assertThatThrownBy(() -> EpKeys.BOOTSTRAP_INTERFACE.get(config))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining(
                        "ep.bootstrap.interface is \"" + text + "\" (from ENVIRONMENT EP_BOOTSTRAP_INTERFACE)")
                .hasMessageContaining("a list of network interfaces");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "  "})
    void anEmptyListLeavesTheChoiceOpen(String text) {
        assertThat(InterfacePattern.parse(text).isEmpty()).isTrue();
    }
}
