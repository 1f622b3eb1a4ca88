package org.ep4j.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
class ConfigKeyTest {
    private static final ConfigKey<Duration> WAIT = ConfigKey.duration("ep.wait", "1s", "a wait");
    private static final ConfigKey<Long> ROOM = ConfigKey.bytes("ep.room", "1MiB", "some room");
    private static final ConfigKey<Boolean> FLAG = ConfigKey.flag("ep.flag", false, "a flag");

    private static <T> T read(ConfigKey<T> key, String text) {
        return key.get(
                EpConfig.builder(Map.of(), Map.of()).set(key.name(), text).build());
    }

    @ParameterizedTest
    @CsvSource({"1ms,1", "7000us,7", "30s,30000", "5m,300000", "2h,7200000", "' 10 s ',10000", "365h,1314000000"})
    void durationsHaveAUnit(String text, long millis) {
        assertThat(read(WAIT, text)).isEqualTo(Duration.ofMillis(millis));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "5",
                "s",
                "-1s",
                "0s",
                "1.5s",
                "1S",
                "1d",
                "9999999999999s",
                "999999999999h",
                "99999999999999us",
                "999999999999999us",
                "18446744073709552us",
                "1s1s"
            })
    void whatIsNotADurationAboveZeroIsRefused(String text) {
        assertThatThrownBy(() -> read(WAIT, text))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("\"" + text + "\"")
                .hasMessageContaining("such as 500ms, 30s or 5m");
    }

    @ParameterizedTest
    @ValueSource(strings = {"64", " 128 ", "1024"})
    void aPowerOfTwoIsRead(String text) {
        ConfigKey<Integer> key = ConfigKey.powerOfTwo("ep.n", 64, 64, 1024, "a number");
        assertThat(read(key, text)).isEqualTo(Integer.parseInt(text.trim()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "-64", "32", "65", "2048", "0x40"})
    void whatIsNoPowerOfTwoInItsRangeIsRefused(String text) {
        ConfigKey<Integer> key = ConfigKey.powerOfTwo("ep.n", 64, 64, 1024, "a number");
        assertThatThrownBy(() -> read(key, text))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("a power of two from 64 to 1024");
    }

    /** Variables of other software may have values of their own; others stay as they are, for the message. */
    @Test
    void aVariableMayHaveValuesOfItsOwn() {
        ConfigKey<String> key = ConfigKey.choice("ep.word", "a", List.of("a", "b"), "a word")
                .orVariable("OTHER_SWITCH", Map.of("1", "b", "0", "a"));
        assertThat(key.get(
                        EpConfig.builder(Map.of(), Map.of("OTHER_SWITCH", " 1")).build()))
                .isEqualTo("b");
        assertThat(key.get(EpConfig.builder(Map.of(), Map.of("OTHER_SWITCH", "1", "EP_WORD", "a"))
                        .build()))
                .as("the variable of the setting goes first")
                .isEqualTo("a");
        EpConfig wrong = EpConfig.builder(Map.of(), Map.of("OTHER_SWITCH", "2")).build();
        assertThatThrownBy(() -> key.get(wrong))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("\"2\" (from ENVIRONMENT OTHER_SWITCH)");
    }

    @Test
    void valuesOfAVariableMayDifferFromTheKeys() {
        ConfigKey<Integer> key = ConfigKey.integer("ep.n", 8, 1, 64, "a number")
                .orVariable("OTHER_N")
                .orVariableTimes("OTHER_EIGHTHS", 8);
        assertThat(key.variables()).containsExactly("OTHER_N", "OTHER_EIGHTHS");
        assertThat(key.difference("OTHER_N")).isEmpty();
        assertThat(key.difference("OTHER_EIGHTHS")).contains("times 8");
        assertThat(key.get(
                        EpConfig.builder(Map.of(), Map.of("OTHER_EIGHTHS", "2")).build()))
                .isEqualTo(16);
    }

    @Test
    void aVariableThatIsAddedTwiceIsReadAsAtFirst() {
        ConfigKey<Integer> key = ConfigKey.integer("ep.n", 8, 1, 64, "a number")
                .orVariableTimes("OTHER_N", 8)
                .orVariable("OTHER_N");
        assertThat(key.variables()).containsExactly("OTHER_N");
        assertThat(key.difference("OTHER_N")).contains("times 8");
    }

    @Test
    void aVariableWithValuesOfItsOwnHasOneForOnAndOff() {
        ConfigKey<String> key = ConfigKey.choice("ep.word", "a", List.of("a", "b"), "a word");
        assertThatThrownBy(() -> key.orVariable("OTHER_SWITCH", Map.of("1", "b")))
                .isInstanceOf(NullPointerException.class);
    }

    @Test
    void aKeyMayConvertAndRefuseValues() {
        ConfigKey<Long> even = ConfigKey.bytes("ep.room", "2", "some room")
                .orVariable("OTHER_ROOM")
                .agreedByAllRanks()
                .checked("an even number", bytes -> {
                    if (bytes % 2 != 0) {
                        throw new IllegalArgumentException(bytes + " is odd");
                    }
                });
        ConfigKey<String> words = even.map("a size in words", bytes -> bytes / 2 + " words");
        assertThat(words.agreed()).isTrue();
        assertThat(words.variables()).containsExactly("OTHER_ROOM");
        assertThat(words).hasToString("ep.room: a size in words");
        assertThat(read(words, "1KiB")).isEqualTo("512 words");
        assertThatThrownBy(() -> read(even, "3"))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.room is \"3\"")
                .hasMessageContaining("must be an even number; some room");
        assertThatThrownBy(() -> even.parse("999999999999T")).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "0,0",
        "4096,4096",
        "64KiB,65536",
        "1 MiB,1048576",
        "8GiB,8589934592",
        "1.5MiB,1572864",
        "2G,2147483648",
        "512m,536870912",
        "1T,1099511627776"
    })
    void bytesMayHaveABinaryUnit(String text, long bytes) {
        assertThat(read(ROOM, text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "1KB", "1.MiB", "MiB", "999999999999GiB", "0x10"})
    void whatIsNotANumberOfBytesIsRefused(String text) {
        assertThatThrownBy(() -> read(ROOM, text))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("a number of bytes such as");
    }

    @ParameterizedTest
    @CsvSource({
        "true,true",
        "TRUE,true",
        "1,true",
        "yes,true",
        "on,true",
        "false,false",
        "0,false",
        "no,false",
        "Off,false"
    })
    void flagsHaveTheUsualWords(String text, boolean value) {
        assertThat(read(FLAG, text)).isEqualTo(value);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "2", "y", "enabled"})
    void whatIsNotAFlagIsRefused(String text) {
        assertThatThrownBy(() -> read(FLAG, text))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("true or false");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "17", "1e1", "3.0", "99999999999", "four"})
    void whatIsNotAnIntegerInTheRangeIsRefused(String text) {
        ConfigKey<Integer> key = ConfigKey.integer("ep.n", 4, 1, 16, "a number");
        assertThatThrownBy(() -> read(key, text))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("an integer from 1 to 16");
        assertThat(read(key, " 16 ")).isEqualTo(16);
    }

    @Test
    void theVariableIsTheNameInCapitalsWithUnderscores() {
        assertThat(EpKeys.SETUP_TIMEOUT.environmentName()).isEqualTo("EP_SETUP_TIMEOUT");
        assertThat(EpKeys.BOOTSTRAP_SECRET.environmentName()).isEqualTo("EP_BOOTSTRAP_SECRET");
    }

    @Test
    void onlyKeysThatSayAreAgreedByAllRanks() {
        assertThat(WAIT.agreed()).isFalse();
        assertThat(WAIT.agreedByAllRanks().agreed()).isTrue();
        assertThat(EpKeys.BOOTSTRAP_SECRET.agreed())
                .as("secrets are not sent around")
                .isFalse();
        assertThat(List.of(EpKeys.BACKEND_REQUIRE, EpKeys.BACKEND_PREFER, EpKeys.BACKEND_EXCLUDE))
                .allMatch(ConfigKey::agreed);
    }
}
