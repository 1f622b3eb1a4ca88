package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class SettingsTest {
    private static EpConfig config(Map<String, String> properties, Map<String, String> environment) {
        return EpConfig.builder(properties, environment).build();
    }

    @ParameterizedTest
    @CsvSource({
        "ep.tiemout, ep.timeout",
        "ep.backend.exclud, ep.backend.exclude",
        "ep.bootstrap.secrets, ep.bootstrap.secret",
        "ep.devices, ep.device"
    })
    void anUnknownKeyIsRefusedWithTheNearestKnownOne(String unknown, String nearest) {
        EpConfig given = EpConfig.builder(Map.of(), Map.of()).set(unknown, "x").build();
        assertThatThrownBy(() -> Settings.check(given, EpKeys.all()))
                .isInstanceOf(EpConfigException.class)
                .hasMessage("unknown key " + unknown + " (from BUILDER); the nearest known one is " + nearest);
        assertThatThrownBy(() -> Settings.check(config(Map.of(unknown, "x"), Map.of()), EpKeys.all()))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("from SYSTEM_PROPERTY")
                .hasMessageContaining(nearest);
    }

    @Test
    void foreignEnvironmentVariablesAndPropertiesAreLeftAlone() {
        Settings.check(
                config(Map.of("java.home", "/x", "epsilon", "1"), Map.of("EP_SOMETHING_ELSE", "x", "HOME", "/root")),
                EpKeys.all());
    }

    @Test
    void variablesThatNobodyIsKnownToReadAreListedWithTheNearestName() {
        Map<String, String> known = Map.of(
                "EP_TIMEOUT",
                "5s",
                "EP_HYBRID_LL",
                "1",
                "EP_JAVA_OPTS",
                "-Xmx1g",
                "EP_JIT_DEBUG",
                "1",
                "HOME",
                "/root");
        assertThat(Settings.unknownVariables(config(Map.of(), known), EpKeys.all()))
                .isEmpty();
        assertThat(Settings.unknownVariables(
                        config(Map.of(), Map.of("EP_TIMEOTU", "5s", "EP_NVTRC", "x", "EPTIMEOUT", "5s")), EpKeys.all()))
                .containsExactly(
                        "EP_NVTRC is no setting of ep4j; the nearest known one is EP_NVRTC",
                        "EP_TIMEOTU is no setting of ep4j; the nearest known one is EP_TIMEOUT");
        ConfigKey<Integer> lanes = ConfigKey.integer("ep.test.lanes", 4, 1, 16, "how many lanes");
        assertThat(Settings.unknownVariables(config(Map.of(), Map.of("EP_TEST_LANES", "7")), List.of(lanes)))
                .isEmpty();
    }

    @Test
    void checkReportsEveryProblemAtOnce() {
        EpConfig bad = EpConfig.builder(Map.of("ep.nothing", "1"), Map.of("EP_TIMEOUT", "soon"))
                .set("ep.bootstrap.port", "70000")
                .build();
        assertThatThrownBy(() -> Settings.check(bad, EpKeys.all()))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.nothing")
                .hasMessageContaining("ep.timeout is \"soon\" (from ENVIRONMENT EP_TIMEOUT)")
                .hasMessageContaining("ep.bootstrap.port is \"70000\" (from BUILDER)");
    }

    @Test
    void allSettingsAreListedByNameWithTheirOrigin() {
        EpConfig config = config(Map.of(), Map.of("EP_TIMEOUT", "5s"));
        assertThat(Settings.resolveAll(config, EpKeys.all()))
                .hasSize(EpKeys.all().size())
                .isSortedAccordingTo((a, b) -> a.name().compareTo(b.name()))
                .contains(Setting.of("ep.timeout", "5s", Origin.ENVIRONMENT, "EP_TIMEOUT"))
                .contains(Setting.of("ep.device", "host", Origin.DEFAULT, ""));
    }

    @Test
    void aMalformedVariableOfAKeyThatTheBuilderSetsDoesNotMatter() {
        Settings.check(
                EpConfig.builder(Map.of(), Map.of("EP_TIMEOUT", "soon"))
                        .timeout(Duration.ofSeconds(2))
                        .build(),
                EpKeys.all());
    }

    @Test
    void aSecretIsNotListed() {
        EpConfig config = config(Map.of(), Map.of("EP_BOOTSTRAP_SECRET", "hunter2"));
        assertThat(Settings.resolveAll(config, EpKeys.all()).toString())
                .doesNotContain("hunter2")
                .contains("(hidden)");
    }

    @Test
    void noDefaultIsRefused() {
        Settings.check(config(Map.of(), Map.of()), EpKeys.all());
    }
}
