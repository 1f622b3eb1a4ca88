package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import org.ep4j.EpConfig;
import org.ep4j.cli.plan.PlanReport.Variable;
import org.ep4j.cli.plan.PlanReport.Variable.Effect;
import org.ep4j.config.ConfigKey;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is said of environment variables. */
@Tag("verify")
final class EnvironmentAnalysisTest {
    private static final List<ConfigKey<?>> KEYS = PlannedBackend.allKeys();
    private static final String SECRET = "correct horse";

    private static List<Variable> study(Map<String, String> environment, String... given) {
        EpConfig.Builder config = EpConfig.builder(Map.of(), environment);
        for (int i = 0; i < given.length; i += 2) {
            config.set(given[i], given[i + 1]);
        }
        return EnvironmentAnalysis.of(environment, config.build(), KEYS);
    }

    private static Variable one(String name, String value) {
        List<Variable> all = study(Map.of(name, value));
        assertThat(all).as(name).hasSize(1);
        return all.get(0);
    }

    @Test
    void everyVariableThatASettingReadsIsThereWithTheSetting() {
        for (ConfigKey<?> key : KEYS) {
            List<String> names = new ArrayList<>(key.variables());
            names.add(key.environmentName());
            String value = key.defaultText().isEmpty() ? "0:x" : key.defaultText();
            for (String name : names) {
                assertThat(study(Map.of(name, value)))
                        .as(name)
                        .filteredOn(row -> row.setting().equals(key.name()))
                        .singleElement()
                        .satisfies(row -> {
                            assertThat(row.name()).isEqualTo(name);
                            assertThat(row.effect()).isEqualTo(Effect.SETS);
                            assertThat(row.meaning()).startsWith("-> " + key.name() + " = ");
                        });
            }
        }
    }

    @Test
    void aValueIsShownAsTheSettingHasIt() {
        assertThat(one("NCCL_IB_GID_INDEX", "3").meaning()).isEqualTo("-> ep.nic.gid-index = 3");
        assertThat(one("NVSHMEM_DISABLE_CUDA_VMM", "1").meaning()).isEqualTo("-> ep.nvshmem.cuda-vmm = false");
        assertThat(study(Map.of("UCCL_SOCKET_IFNAME", "eth0")))
                .extracting(Variable::setting)
                .containsExactlyInAnyOrder("ep.bootstrap.interface", "ep.efa.interface");
    }

    @Test
    void aVariableThatDoesNotCountSaysWhatDoes() {
        Map<String, String> environment =
                new HashMap<>(Map.of("NCCL_IB_GID_INDEX", "3", "NVSHMEM_IB_GID_INDEX", "no number"));
        assertThat(study(environment))
                .extracting(Variable::effect, Variable::meaning)
                .containsExactly(
                        tuple(Effect.SETS, "-> ep.nic.gid-index = 3"),
                        tuple(Effect.OVERRIDDEN, "does not count: ep.nic.gid-index = 3 from NCCL_IB_GID_INDEX does"));
        assertThat(study(environment, "ep.nic.gid-index", "7"))
                .extracting(Variable::meaning)
                .containsOnly("does not count: ep.nic.gid-index = 7 from an option of this command does");
        environment.put("NCCL_IB_GID_INDEX", " ");
        environment.put("EP_NIC_GID_INDEX", "5");
        assertThat(study(environment))
                .extracting(Variable::effect)
                .containsExactly(Effect.SETS, Effect.NONE, Effect.OVERRIDDEN);
    }

    @Test
    void aValueThatIsRefusedIsShownWithTheReason() {
        Variable row = one("NCCL_IB_TC", "300");
        assertThat(row.effect()).isEqualTo(Effect.REFUSED);
        assertThat(row.meaning()).contains("ep.nic.traffic-class", "300", "NCCL_IB_TC", "from -1 to 255");
    }

    @Test
    void aNameThatIsNearlyOneThatCountsIsSuggested() {
        assertThat(one("NCCL_IB_GID_IDX", "3"))
                .satisfies(row -> assertThat(row.effect()).isEqualTo(Effect.UNKNOWN))
                .satisfies(row -> assertThat(row.meaning())
                        .contains("not a setting of NCCL that ep4j knows", "NCCL_IB_GID_INDEX"));
        assertThat(one("EP_TIMEOTU", "3s").meaning()).contains("no setting of ep4j", "EP_TIMEOUT");
        assertThat(one("NCCL_SOMETHING_NEW", "1").meaning())
                .isEqualTo("no effect: not a setting of NCCL that ep4j knows");
    }

    @Test
    void aKnownNameThatDoesNothingSaysWhy() {
        assertThat(one("NCCL_NVLS_ENABLE", "0").effect()).isEqualTo(Effect.NONE);
        assertThat(one("NCCL_NVLS_ENABLE", "0").meaning()).contains("multicast");
        assertThat(one("NCCL_GIN_TYPE", "3").meaning()).contains("nvshmem-ibgda");
        assertThat(one("NVSHMEM_MAX_TEAMS", "7").effect()).isEqualTo(Effect.READ_OTHERWISE);
        assertThat(one("EP_CACHE_DIR", "/tmp").effect()).isEqualTo(Effect.READ_OTHERWISE);
        assertThat(one("EP_NVRTC", "x").effect()).isEqualTo(Effect.READ_OTHERWISE);
    }

    @Test
    void otherVariablesAreLeftOut() {
        assertThat(study(Map.of("HOME", "/root", "MASTER_ADDR", "x", "NCCL", "1", "EPSILON", "2")))
                .isEmpty();
    }

    @Test
    void noSecretIsShownHoweverItsNameIsMisspelt() {
        Random random = new Random(3);
        for (int round = 0; round < 500; round++) {
            StringBuilder name = new StringBuilder("EP_BOOTSTRAP_SECRET");
            for (int edit = 0; edit < random.nextInt(4); edit++) {
                int at = 3 + random.nextInt(name.length() - 3);
                if (random.nextBoolean()) {
                    name.deleteCharAt(at);
                } else {
                    name.insert(at, (char) ('A' + random.nextInt(26)));
                }
            }
            assertThat(study(Map.of(name.toString(), SECRET)).toString()).doesNotContain(SECRET);
        }
        assertThat(study(Map.of("EP_BOOTSTRAP_SECRET", SECRET), "ep.bootstrap.secret", SECRET + "2")
                        .toString())
                .doesNotContain(SECRET);
        assertThat(study(Map.of("UCCL_API_KEY", SECRET)).toString()).doesNotContain(SECRET);
    }

    @Test
    void controlCharactersAreEscaped() {
        Variable row = one("NCCL_IB_\u001bHCA", "a\u001b[31m\nb\u202e");
        assertThat(row.name()).isEqualTo("NCCL_IB_\\u001bHCA");
        assertThat(row.value()).isEqualTo("a\\u001b[31m\\u000ab\\u202e");
        assertThat(one("NCCL_IB_TC", "\u001b").meaning()).contains("\\u001b").doesNotContain("\u001b");
    }

    /** The table is about variables that no setting reads, and what it advises is there. */
    @Test
    void theTableNamesSettingsThatThereAreAndVariablesThatNobodyReads() {
        Pattern setting = Pattern.compile("ep\\.[a-z][a-z0-9.-]*[a-z0-9]");
        List<String> settings = KEYS.stream().map(ConfigKey::name).toList();
        for (EnvironmentAnalysis.KnownVariables.Entry entry :
                EnvironmentAnalysis.KnownVariables.read().entries()) {
            assertThat(entry.effect()).isIn(Effect.NONE, Effect.READ_OTHERWISE);
            assertThat(entry.meaning()).isNotBlank();
            assertThat(setting.matcher(entry.meaning()).results().map(found -> found.group()))
                    .as(entry.meaning())
                    .allMatch(settings::contains);
            for (String name : entry.names()) {
                assertThat(KEYS).as(name).noneMatch(key -> key.variables().contains(name));
                Variable row = one(name.replace("*", "ZZZZ"), "1");
                if (!name.equals("EP_*")) {
                    assertThat(row.meaning()).endsWith(entry.meaning());
                }
            }
        }
    }
}
