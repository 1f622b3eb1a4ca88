package org.ep4j.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpConfig.Origin;
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
        EpConfig all = EpConfig.builder(property, variable).set(LANES, "5").build();
        assertThat(all.get(LANES)).isEqualTo(5);
        assertThat(all.resolve(LANES).origin()).isEqualTo(Origin.BUILDER);
        assertThat(config(property, variable).get(LANES)).isEqualTo(6);
        assertThat(config(property, variable).resolve(LANES).origin()).isEqualTo(Origin.SYSTEM_PROPERTY);
        assertThat(config(Map.of(), variable).get(LANES)).isEqualTo(7);
        assertThat(config(Map.of(), variable).resolve(LANES).origin()).isEqualTo(Origin.ENVIRONMENT);
        assertThat(config(Map.of(), Map.of()).get(LANES)).isEqualTo(4);
        assertThat(config(Map.of(), Map.of()).resolve(LANES))
                .isEqualTo(new EpConfig.Resolved("ep.test.lanes", "4", Origin.DEFAULT, ""));
    }

    @Test
    void variablesOfOtherSoftwareAreReadAfterTheOwnOne() {
        Map<String, String> nccl = Map.of("NCCL_IB_HCA", "mlx5_0", "NVSHMEM_HCA_LIST", "mlx5_1", "NCCL_IB_TC", "0x68");
        EpConfig config = config(Map.of(), nccl);
        assertThat(config.resolve(EpKeys.NIC_INCLUDE))
                .isEqualTo(new EpConfig.Resolved("ep.nic.include", "mlx5_0", Origin.ENVIRONMENT, "NCCL_IB_HCA"))
                .hasToString("ep.nic.include = \"mlx5_0\" (ENVIRONMENT NCCL_IB_HCA)");
        assertThat(config.get(EpKeys.NIC_TRAFFIC_CLASS)).isEqualTo(104);
        assertThat(config.get(EpKeys.NIC_SERVICE_LEVEL)).isEqualTo(-1);
        assertThat(config(Map.of(), Map.of("NCCL_IB_HCA", " ", "NVSHMEM_HCA_LIST", "mlx5_1"))
                        .get(EpKeys.NIC_INCLUDE))
                .isEqualTo("mlx5_1");
        assertThat(config(Map.of(), Map.of("NCCL_IB_HCA", "mlx5_0", "EP_NIC_INCLUDE", ""))
                        .get(EpKeys.NIC_INCLUDE))
                .as("set to nothing")
                .isEmpty();
        assertThatThrownBy(() -> config(Map.of(), Map.of("NCCL_IB_SL", "many")).get(EpKeys.NIC_SERVICE_LEVEL))
                .hasMessageContaining("(from ENVIRONMENT NCCL_IB_SL)");
    }

    @Test
    void aChoiceIsOneOfItsWords() {
        assertThat(config(Map.of("ep.plan.objective", "Low_Latency"), Map.of()).get(EpKeys.OBJECTIVE))
                .isEqualTo("low-latency");
        assertThatThrownBy(() ->
                        config(Map.of("ep.plan.objective", "fast"), Map.of()).get(EpKeys.OBJECTIVE))
                .hasMessageContaining("must be balanced, low-latency or high-throughput");
    }

    @Test
    void aMalformedValueNamesKeyValueOriginFormatAndPurpose() {
        assertThatThrownBy(
                        () -> config(Map.of(), Map.of("EP_TEST_LANES", "many")).get(LANES))
                .isInstanceOf(EpConfigException.class)
                .hasMessage(
                        "ep.test.lanes is \"many\" (from ENVIRONMENT EP_TEST_LANES), must be an integer from 1 to 16; how many lanes");
        assertThatThrownBy(() -> config(Map.of("ep.test.lanes", "17"), Map.of()).get(LANES))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("from SYSTEM_PROPERTY");
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
        assertThatThrownBy(() -> given.check(EpKeys.all()))
                .isInstanceOf(EpConfigException.class)
                .hasMessage("unknown key " + unknown + " (from BUILDER); the nearest known one is " + nearest);
        assertThatThrownBy(() -> config(Map.of(unknown, "x"), Map.of()).check(EpKeys.all()))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("from SYSTEM_PROPERTY")
                .hasMessageContaining(nearest);
    }

    @Test
    void foreignEnvironmentVariablesAndPropertiesAreLeftAlone() {
        config(Map.of("java.home", "/x", "epsilon", "1"), Map.of("EP_SOMETHING_ELSE", "x", "HOME", "/root"))
                .check(EpKeys.all());
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
        assertThat(String.valueOf(config.get(key))).isEqualTo(meant);
        assertThat(config.resolve(key).source()).isEqualTo(variable);
        assertThatThrownBy(() -> config(Map.of(), Map.of(variable, "2")).get(key))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll(setting, "\"2\"", variable);
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
        assertThat(config(Map.of(), known).unknownVariables(EpKeys.all())).isEmpty();
        assertThat(config(Map.of(), Map.of("EP_TIMEOTU", "5s", "EP_NVTRC", "x", "EPTIMEOUT", "5s"))
                        .unknownVariables(EpKeys.all()))
                .containsExactly(
                        "EP_NVTRC is no setting of ep4j; the nearest known one is EP_NVRTC",
                        "EP_TIMEOTU is no setting of ep4j; the nearest known one is EP_TIMEOUT");
        assertThat(config(Map.of(), Map.of("EP_TEST_LANES", "7")).unknownVariables(List.of(LANES)))
                .isEmpty();
    }

    @Test
    void checkReportsEveryProblemAtOnce() {
        EpConfig bad = EpConfig.builder(Map.of("ep.nothing", "1"), Map.of("EP_TIMEOUT", "soon"))
                .set("ep.bootstrap.port", "70000")
                .build();
        assertThatThrownBy(() -> bad.check(EpKeys.all()))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.nothing")
                .hasMessageContaining("ep.timeout is \"soon\" (from ENVIRONMENT EP_TIMEOUT)")
                .hasMessageContaining("ep.bootstrap.port is \"70000\" (from BUILDER)");
    }

    @Test
    void aMalformedVariableOfAKeyThatTheBuilderSetsDoesNotMatter() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of("EP_TIMEOUT", "soon"))
                .set(EpKeys.TIMEOUT, "2s")
                .build();
        config.check(EpKeys.all());
        assertThat(config.get(EpKeys.TIMEOUT)).isEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void aConfigurationDoesNotChangeAfterItIsBuilt() {
        Map<String, String> properties = new TreeMap<>(Map.of("ep.test.lanes", "2"));
        EpConfig.Builder builder = EpConfig.builder(properties, Map.of());
        EpConfig first = builder.build();
        builder.set(LANES, "3");
        properties.put("ep.test.lanes", "9");
        assertThat(first.get(LANES)).isEqualTo(2);
        assertThat(first.toBuilder().set(LANES, "8").build().get(LANES)).isEqualTo(8);
        assertThat(first.get(LANES)).isEqualTo(2);
    }

    @Test
    void theBuilderOfABuiltConfigurationKeepsWhatWasSet() {
        EpConfig first = EpConfig.builder(Map.of(), Map.of("EP_TEST_LANES", "7"))
                .set(EpKeys.DEVICE, "cuda:1")
                .build();
        EpConfig second = first.toBuilder().build();
        assertThat(second.get(EpKeys.DEVICE)).isEqualTo("cuda:1");
        assertThat(second.get(LANES)).isEqualTo(7);
    }

    @Test
    void allSettingsAreListedByNameWithTheirOrigin() {
        EpConfig config = config(Map.of(), Map.of("EP_TIMEOUT", "5s"));
        assertThat(config.resolveAll(EpKeys.all()))
                .hasSize(EpKeys.all().size())
                .isSortedAccordingTo((a, b) -> a.name().compareTo(b.name()))
                .contains(new EpConfig.Resolved("ep.timeout", "5s", Origin.ENVIRONMENT, "EP_TIMEOUT"))
                .contains(new EpConfig.Resolved("ep.device", "host", Origin.DEFAULT, ""));
    }

    @Test
    void aSecretIsNotListed() {
        EpConfig config = config(Map.of(), Map.of("EP_BOOTSTRAP_SECRET", "hunter2"));
        assertThat(config.resolveAll(EpKeys.all()).toString())
                .doesNotContain("hunter2")
                .contains("(hidden)");
        assertThat(config.resolve(EpKeys.BOOTSTRAP_SECRET).toString())
                .isEqualTo("ep.bootstrap.secret = \"(hidden)\" (ENVIRONMENT EP_BOOTSTRAP_SECRET)");
        assertThat(config.get(EpKeys.BOOTSTRAP_SECRET)).isEqualTo("hunter2");
    }

    @Test
    void systemPropertiesOfThisProcessAreRead() {
        System.setProperty("ep.test.lanes", "11");
        try {
            assertThat(EpConfig.load().get(LANES)).isEqualTo(11);
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
        config(Map.of(), Map.of()).check(keys);
        assertThat(keys)
                .contains(EpKeys.BOOTSTRAP_HEARTBEAT, EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT, EpKeys.BOOTSTRAP_LINGER);
    }
}
