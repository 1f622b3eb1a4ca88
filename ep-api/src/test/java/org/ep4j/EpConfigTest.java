package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpConfig.Origin;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class EpConfigTest {
    private static final ConfigKey<Integer> LANES = ConfigKey.integer("ep.test.lanes", 4, 1, 16, "how many lanes");

    private static EpConfig config(Map<String, String> properties, Map<String, String> environment) {
        return EpConfig.builder(properties, environment).build();
    }

    @Test
    void theBuilderWinsOverPropertyOverEnvironmentOverDefault() {
        Map<String, String> property = Map.of("ep.test.lanes", "6");
        Map<String, String> variable = Map.of("EP_TEST_LANES", "7");
        EpConfig all =
                EpConfig.builder(property, variable).set(LANES.name(), "5").build();
        assertThat(LANES.get(all)).isEqualTo(5);
        assertThat(LANES.setting(all).origin()).isEqualTo(Origin.BUILDER);
        assertThat(LANES.get(config(property, variable))).isEqualTo(6);
        assertThat(LANES.setting(config(property, variable)).origin()).isEqualTo(Origin.SYSTEM_PROPERTY);
        assertThat(LANES.get(config(Map.of(), variable))).isEqualTo(7);
        assertThat(LANES.setting(config(Map.of(), variable)).origin()).isEqualTo(Origin.ENVIRONMENT);
        assertThat(LANES.get(config(Map.of(), Map.of()))).isEqualTo(4);
        assertThat(LANES.setting(config(Map.of(), Map.of())))
                .isEqualTo(EpConfig.Setting.of("ep.test.lanes", "4", Origin.DEFAULT, ""));
    }

    @Test
    void variablesOfOtherSoftwareAreReadAfterTheOwnOne() {
        Map<String, String> nccl = Map.of("NCCL_IB_HCA", "mlx5_0", "NVSHMEM_HCA_LIST", "mlx5_1", "NCCL_IB_TC", "0x68");
        EpConfig config = config(Map.of(), nccl);
        assertThat(EpKeys.NIC_INCLUDE.setting(config))
                .isEqualTo(EpConfig.Setting.of("ep.nic.include", "mlx5_0", Origin.ENVIRONMENT, "NCCL_IB_HCA"))
                .hasToString("ep.nic.include = \"mlx5_0\" (ENVIRONMENT NCCL_IB_HCA)");
        assertThat(EpKeys.NIC_TRAFFIC_CLASS.get(config)).isEqualTo(104);
        assertThat(EpKeys.NIC_SERVICE_LEVEL.get(config)).isEqualTo(-1);
        assertThat(EpKeys.NIC_INCLUDE.get(config(Map.of(), Map.of("NCCL_IB_HCA", " ", "NVSHMEM_HCA_LIST", "mlx5_1"))))
                .isEqualTo("mlx5_1");
        assertThat(EpKeys.NIC_INCLUDE.get(config(Map.of(), Map.of("NCCL_IB_HCA", "mlx5_0", "EP_NIC_INCLUDE", ""))))
                .as("set to nothing")
                .isEmpty();
        assertThatThrownBy(() -> EpKeys.NIC_SERVICE_LEVEL.get(config(Map.of(), Map.of("NCCL_IB_SL", "many"))))
                .hasMessageContaining("(from ENVIRONMENT NCCL_IB_SL)");
    }

    @Test
    void aChoiceIsOneOfItsWords() {
        assertThat(EpKeys.OBJECTIVE.get(config(Map.of("ep.plan.objective", "Low_Latency"), Map.of())))
                .isEqualTo("low-latency");
        assertThatThrownBy(() -> EpKeys.OBJECTIVE.get(config(Map.of("ep.plan.objective", "fast"), Map.of())))
                .hasMessageContaining("must be balanced, low-latency or high-throughput");
    }

    @Test
    void aMalformedValueNamesKeyValueOriginFormatAndPurpose() {
        assertThatThrownBy(() -> LANES.get(config(Map.of(), Map.of("EP_TEST_LANES", "many"))))
                .isInstanceOf(EpConfigException.class)
                .hasMessage(
                        "ep.test.lanes is \"many\" (from ENVIRONMENT EP_TEST_LANES), must be an integer from 1 to 16; how many lanes");
        assertThatThrownBy(() -> LANES.get(config(Map.of("ep.test.lanes", "17"), Map.of())))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("from SYSTEM_PROPERTY");
    }

    @ParameterizedTest
    @CsvSource({
        "UCCL_EP_ENABLE_AGGRESSIVE_ATOMIC, 1, ep.gpu.publish, relaxed",
        "UCCL_EP_ENABLE_AGGRESSIVE_ATOMIC, 0, ep.gpu.publish, release",
        "UCCL_EP_ENABLE_AGGRESSIVE_ATOMIC, relaxed, ep.gpu.publish, relaxed",
        "UCCL_EP_ENABLE_AGGRESSIVE_ATOMIC, release, ep.gpu.publish, release",
        "MSCCLPP_EP_HYBRID_LL, 1, ep.plan.hybrid, true",
        "MSCCLPP_EP_HYBRID_LL, 0, ep.plan.hybrid, false",
        "MSCCLPP_EP_HYBRID_LL, true, ep.plan.hybrid, true",
        "MSCCLPP_EP_HYBRID_LL, false, ep.plan.hybrid, false",
    })
    void switchesOfOtherSoftwareAreReadAsItWritesThemAndAsTheSettingIsWritten(
            String variable, String value, String setting, String meant) {
        ConfigKey<?> key = EpKeys.all().stream()
                .filter(one -> one.name().equals(setting))
                .findFirst()
                .orElseThrow();
        EpConfig config = config(Map.of(), Map.of(variable, value));
        assertThat(String.valueOf(key.get(config))).isEqualTo(meant);
        assertThat(key.setting(config).source()).isEqualTo(variable);
        assertThatThrownBy(() -> key.get(config(Map.of(), Map.of(variable, "2"))))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll(setting, "\"2\"", variable);
    }

    @Test
    void aMalformedVariableOfAKeyThatTheBuilderSetsDoesNotMatter() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of("EP_TIMEOUT", "soon"))
                .set(EpKeys.TIMEOUT.name(), "2s")
                .build();
        assertThat(EpKeys.TIMEOUT.get(config)).isEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void aConfigurationDoesNotChangeAfterItIsBuilt() {
        Map<String, String> properties = new TreeMap<>(Map.of("ep.test.lanes", "2"));
        EpConfig.Builder builder = EpConfig.builder(properties, Map.of());
        EpConfig first = builder.build();
        builder.set(LANES.name(), "3");
        properties.put("ep.test.lanes", "9");
        assertThat(LANES.get(first)).isEqualTo(2);
        assertThat(LANES.get(first.toBuilder().set(LANES.name(), "8").build())).isEqualTo(8);
        assertThat(LANES.get(first)).isEqualTo(2);
    }

    @Test
    void theBuilderOfABuiltConfigurationKeepsWhatWasSet() {
        EpConfig first = EpConfig.builder(Map.of(), Map.of("EP_TEST_LANES", "7"))
                .set(EpKeys.DEVICE.name(), "cuda:1")
                .build();
        EpConfig second = first.toBuilder().build();
        assertThat(EpKeys.DEVICE.get(second)).isEqualTo("cuda:1");
        assertThat(LANES.get(second)).isEqualTo(7);
    }

    @Test
    void aTunedValueReplacesOnlyTheDefault() {
        Map<String, String> measured = Map.of("ep.test.lanes", "9");
        EpConfig tuned = config(Map.of(), Map.of()).withTuned(measured, "/cache/tuned-1.properties");
        assertThat(LANES.get(tuned)).isEqualTo(9);
        assertThat(LANES.setting(tuned))
                .isEqualTo(EpConfig.Setting.of("ep.test.lanes", "9", Origin.TUNED, "/cache/tuned-1.properties"));
        assertThat(EpKeys.TIMEOUT.setting(tuned).origin()).isEqualTo(Origin.DEFAULT);

        EpConfig built =
                EpConfig.builder(Map.of(), Map.of()).set(LANES.name(), "5").build();
        assertThat(LANES.get(built.withTuned(measured, "file"))).isEqualTo(5);
        assertThat(LANES.get(config(Map.of("ep.test.lanes", "6"), Map.of()).withTuned(measured, "file")))
                .isEqualTo(6);
        EpConfig variable = config(Map.of(), Map.of("EP_TEST_LANES", "7")).withTuned(measured, "file");
        assertThat(LANES.get(variable)).isEqualTo(7);
        assertThat(LANES.setting(variable).origin()).isEqualTo(Origin.ENVIRONMENT);
    }

    @Test
    void aVariableOfOtherSoftwareWinsOverATunedValue() {
        ConfigKey<Integer> key = LANES.orVariable("OTHER_LANES");
        Map<String, String> measured = Map.of("ep.test.lanes", "9");
        EpConfig other = config(Map.of(), Map.of("OTHER_LANES", "3")).withTuned(measured, "file");
        assertThat(key.get(other)).isEqualTo(3);
        assertThat(key.setting(other).source()).isEqualTo("OTHER_LANES");
        EpConfig blank = config(Map.of(), Map.of("OTHER_LANES", " ")).withTuned(measured, "file");
        assertThat(key.get(blank)).isEqualTo(9);
    }

    @Test
    void tunedValuesAreKeptByTheBuilderAndCanBeSetOverThere() {
        EpConfig plain = EpConfig.builder(Map.of(), Map.of("HOME", "/root"))
                .set("ep.c", 3)
                .build();
        EpConfig tuned = plain.withTuned(Map.of("ep.test.lanes", "9"), "file");
        EpConfig again = tuned.toBuilder().build();
        assertThat(LANES.setting(again)).isEqualTo(LANES.setting(tuned));
        assertThat(again.names(Origin.TUNED)).containsExactly("ep.test.lanes");
        assertThat(again.names(Origin.BUILDER)).containsExactly("ep.c");
        assertThat(again.names(Origin.ENVIRONMENT)).containsExactly("HOME");
        assertThat(LANES.get(tuned.toBuilder().set(LANES.name(), "2").build())).isEqualTo(2);
        assertThat(LANES.get(plain)).as("the configuration before").isEqualTo(4);
        assertThat(plain.names(Origin.TUNED)).isEmpty();
    }

    @Test
    void laterTunedValuesReplaceEarlierOnesOfTheSameName() {
        EpConfig tuned = config(Map.of(), Map.of())
                .withTuned(Map.of("ep.test.lanes", "9", "ep.timeout", "2s"), "one")
                .withTuned(Map.of("ep.test.lanes", "8"), "two");
        assertThat(LANES.setting(tuned)).isEqualTo(EpConfig.Setting.of("ep.test.lanes", "8", Origin.TUNED, "two"));
        assertThat(EpKeys.TIMEOUT.setting(tuned))
                .isEqualTo(EpConfig.Setting.of("ep.timeout", "2s", Origin.TUNED, "one"));
        assertThat(tuned.names(Origin.TUNED)).containsExactly("ep.test.lanes", "ep.timeout");
    }

    @Test
    void theOriginOfAValueHasAPlaceForPeople() {
        EpConfig nobody = config(Map.of(), Map.of());
        Map<String, EpConfig> byPlace = Map.of(
                "the program",
                        EpConfig.builder(Map.of(), Map.of())
                                .set(LANES.name(), "5")
                                .build(),
                "-Dep.test.lanes", config(Map.of("ep.test.lanes", "6"), Map.of()),
                "EP_TEST_LANES", config(Map.of(), Map.of("EP_TEST_LANES", "7")),
                "/cache/tuned-1.properties",
                        nobody.withTuned(Map.of("ep.test.lanes", "9"), "/cache/tuned-1.properties"),
                "the default", nobody);
        byPlace.forEach(
                (place, config) -> assertThat(LANES.setting(config).place()).isEqualTo(place));
        assertThat(EpKeys.NIC_INCLUDE
                        .setting(config(Map.of(), Map.of("NCCL_IB_HCA", "mlx5_0")))
                        .place())
                .isEqualTo("NCCL_IB_HCA");
    }

    @Test
    void aMalformedTunedValueNamesItsFile() {
        EpConfig tuned =
                config(Map.of(), Map.of()).withTuned(Map.of("ep.test.lanes", "many"), "/cache/tuned-1.properties");
        assertThatThrownBy(() -> LANES.get(tuned))
                .isInstanceOf(EpConfigException.class)
                .hasMessageStartingWith("ep.test.lanes is \"many\" (from TUNED /cache/tuned-1.properties), must be");
    }

    @Test
    void tuningIsOnUnlessItIsTurnedOffAndRanksMayDiffer() {
        assertThat(EpKeys.TUNE.get(config(Map.of(), Map.of()))).isEqualTo("on");
        assertThat(EpKeys.TUNE.get(config(Map.of(), Map.of("EP_TUNE", "OFF")))).isEqualTo("off");
        assertThatThrownBy(() -> EpKeys.TUNE.get(config(Map.of("ep.tune", "no"), Map.of())))
                .hasMessageContaining("must be on or off");
        assertThat(EpKeys.TUNE.agreed()).isFalse();
        assertThat(EpKeys.all()).contains(EpKeys.TUNE);
    }

    @Test
    void aSecretIsNotPrinted() {
        EpConfig config = config(Map.of(), Map.of("EP_BOOTSTRAP_SECRET", "hunter2"));
        assertThat(EpKeys.BOOTSTRAP_SECRET.setting(config).toString())
                .isEqualTo("ep.bootstrap.secret = \"(hidden)\" (ENVIRONMENT EP_BOOTSTRAP_SECRET)");
        assertThat(EpKeys.BOOTSTRAP_SECRET.setting(config).shown().text()).isEqualTo("(hidden)");
        assertThat(EpKeys.BOOTSTRAP_SECRET.get(config)).isEqualTo("hunter2");
    }

    @Test
    void typedSettersWriteTheTextsOfTheKeys() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .device(Device.cuda(3))
                .timeout(Duration.ofMillis(1500))
                .require("ipc-nvlink", "host-shm")
                .prefer("host-shm")
                .exclude("rocm", "efa")
                .build();
        assertThat(EpKeys.DEVICE.get(config)).isEqualTo("cuda:3");
        assertThat(EpKeys.TIMEOUT.get(config)).isEqualTo(Duration.ofMillis(1500));
        assertThat(EpKeys.BACKEND_REQUIRE.get(config)).isEqualTo("ipc-nvlink,host-shm");
        assertThat(EpKeys.BACKEND_PREFER.get(config)).isEqualTo("host-shm");
        assertThat(EpKeys.BACKEND_EXCLUDE.get(config)).isEqualTo("rocm,efa");
        assertThat(config.names(Origin.BUILDER))
                .containsExactlyInAnyOrder(
                        EpKeys.DEVICE.name(),
                        EpKeys.TIMEOUT.name(),
                        EpKeys.BACKEND_REQUIRE.name(),
                        EpKeys.BACKEND_PREFER.name(),
                        EpKeys.BACKEND_EXCLUDE.name());
    }

    @ParameterizedTest
    @CsvSource({
        "PT30S, 30s",
        "PT1.5S, 1500ms",
        "PT0.00005S, 50us",
        "PT0.000000001S, 1us",
        "P364DT0.000001S, 31449600000001us"
    })
    void aDurationIsWrittenAsKeysReadIt(Duration given, String text) {
        EpConfig config =
                EpConfig.builder(Map.of(), Map.of()).set("ep.timeout", given).build();
        assertThat(EpKeys.TIMEOUT.setting(config).text()).isEqualTo(text);
        assertThat(EpKeys.TIMEOUT.get(config)).isBetween(given, given.plusNanos(999));
    }

    @Test
    void aDurationThatIsTooLongIsWrittenAndRefusedWhereItIsRead() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .timeout(ChronoUnit.FOREVER.getDuration())
                .build();
        assertThat(EpKeys.TIMEOUT.setting(config).text()).isEqualTo(Long.MAX_VALUE + "us");
        assertThatThrownBy(() -> EpKeys.TIMEOUT.get(config))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("must be a duration above zero");
    }

    @Test
    void aTimeoutThatIsNotAboveZeroIsRefusedWhereItIsRead() {
        EpConfig config =
                EpConfig.builder(Map.of(), Map.of()).timeout(Duration.ZERO).build();
        assertThatThrownBy(() -> EpKeys.TIMEOUT.get(config))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.timeout is \"0s\" (from BUILDER), must be a duration above zero");
    }

    @Test
    void namesAreListedByOrigin() {
        EpConfig config = EpConfig.builder(Map.of("ep.b", "1", "java.home", "/x"), Map.of("HOME", "/root"))
                .set("ep.c", 3)
                .set("ep.a", true)
                .build();
        assertThat(config.names(Origin.BUILDER)).containsExactly("ep.a", "ep.c");
        assertThat(config.names(Origin.SYSTEM_PROPERTY)).containsExactly("ep.b");
        assertThat(config.names(Origin.ENVIRONMENT)).containsExactly("HOME");
        assertThat(config.names(Origin.TUNED)).isEmpty();
        assertThat(config.names(Origin.DEFAULT)).isEmpty();
        assertThat(config.lookup("ep.c", List.of())).contains(EpConfig.Setting.of("ep.c", "3", Origin.BUILDER, ""));
        assertThat(config.lookup("ep.d", List.of("ELSE"))).isEmpty();
    }

    @Test
    void systemPropertiesOfThisProcessAreRead() {
        System.setProperty("ep.test.lanes", "11");
        try {
            assertThat(LANES.get(EpConfig.load())).isEqualTo(11);
        } finally {
            System.clearProperty("ep.test.lanes");
        }
    }

    @Test
    void everyDeclaredKeyHasAGoodNameAnExplanationAndADefaultThatParses() {
        List<ConfigKey<?>> keys = EpKeys.all();
        assertThat(keys)
                .extracting(ConfigKey::name)
                .doesNotHaveDuplicates()
                .allMatch(n -> n.matches("ep(\\.[a-z-]+)+"));
        assertThat(keys).extracting(ConfigKey::help).noneMatch(String::isBlank);
        EpConfig none = config(Map.of(), Map.of());
        keys.forEach(key -> key.get(none));
        assertThat(keys)
                .contains(EpKeys.BOOTSTRAP_HEARTBEAT, EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT, EpKeys.BOOTSTRAP_LINGER);
    }
}
