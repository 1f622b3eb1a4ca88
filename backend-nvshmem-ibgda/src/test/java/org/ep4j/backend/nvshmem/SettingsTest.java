package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class SettingsTest {
    private static EpConfig config(Map<String, String> settings) {
        EpConfig.Builder builder = EpConfig.builder();
        settings.forEach(builder::set);
        return builder.build();
    }

    @Test
    void withoutANicNvshmemIsToldSo() {
        Map<String, String> all = NvshmemKeys.variables(config(Map.of()), Map.of(), "none", 4, List.of());
        assertThat(all)
                .containsEntry("NVSHMEM_REMOTE_TRANSPORT", "none")
                .containsEntry("NVSHMEM_DISABLE_NVLS", "1")
                .containsEntry("NVSHMEM_DISABLE_CUDA_VMM", "0")
                .doesNotContainKeys("NVSHMEM_IB_ENABLE_IBGDA", "NVSHMEM_HCA_LIST");
    }

    @Test
    void ibgdaIsASwitchAndNoValueOfTheTransport() {
        Map<String, String> all = NvshmemKeys.variables(
                config(Map.of("ep.nvshmem.nic-handler", "cpu", "ep.nic.gid-index", "3", "ep.nvshmem.dcis", "2")),
                Map.of(),
                "ibgda",
                6,
                List.of("mlx5_2:1"));
        assertThat(all)
                .containsEntry("NVSHMEM_REMOTE_TRANSPORT", "ibrc")
                .containsEntry("NVSHMEM_IB_ENABLE_IBGDA", "1")
                .containsEntry("NVSHMEM_IBGDA_NUM_RC_PER_PE", "6")
                .containsEntry("NVSHMEM_IBGDA_NUM_DCI", "2")
                .containsEntry("NVSHMEM_IBGDA_NIC_HANDLER", "cpu")
                .containsEntry("NVSHMEM_HCA_LIST", "mlx5_2:1")
                .containsEntry("NVSHMEM_IB_GID_INDEX", "3")
                .containsEntry("NVSHMEM_QP_DEPTH", "1024")
                .containsEntry("NVSHMEM_DISABLE_NVLS", "1")
                .doesNotContainKey("NVSHMEM_IB_SL");
    }

    @Test
    void otherTransportsPostFromTheHost() {
        for (String transport : List.of("ibrc", "ucx", "libfabric", "ibdevx")) {
            assertThat(NvshmemKeys.variables(config(Map.of()), Map.of(), transport, 1, List.of()))
                    .containsEntry("NVSHMEM_REMOTE_TRANSPORT", transport)
                    .containsEntry("NVSHMEM_IB_ENABLE_IBGDA", "0");
        }
    }

    private static EpConfig environment(Map<String, String> variables) {
        return EpConfig.builder(Map.of(), variables).build();
    }

    private static Map<String, String> told(Map<String, String> variables, String transport) {
        return NvshmemKeys.variables(environment(variables), variables, transport, 4, List.of("mlx5_0:1"));
    }

    /** As on Google's cloud, where CUDA's virtual memory does not work with NVSHMEM. */
    @ParameterizedTest
    @ValueSource(strings = {"1", "true", "YES", "t"})
    void disabledVirtualMemoryStaysDisabled(String yes) {
        Map<String, String> variables = Map.of("NVSHMEM_DISABLE_CUDA_VMM", yes, "NVSHMEM_SYMMETRIC_SIZE", "1.5G");
        assertThat(environment(variables).get(NvshmemKeys.CUDA_VMM)).isFalse();
        assertThat(told(variables, "ibgda"))
                .containsEntry("NVSHMEM_DISABLE_CUDA_VMM", "1")
                .containsEntry("NVSHMEM_SYMMETRIC_SIZE", "1610612736");
    }

    @Test
    void virtualMemoryThatIsNotDisabledIsUsed() {
        Map<String, String> variables = Map.of("NVSHMEM_DISABLE_CUDA_VMM", "0", "NVSHMEM_SYMMETRIC_SIZE", "4g");
        assertThat(told(variables, "none"))
                .containsEntry("NVSHMEM_DISABLE_CUDA_VMM", "0")
                .doesNotContainKey("NVSHMEM_SYMMETRIC_SIZE");
        assertThatThrownBy(() -> told(Map.of("NVSHMEM_DISABLE_CUDA_VMM", "perhaps"), "none"))
                .isInstanceOf(EpConfigException.class)
                .hasMessageStartingWith(
                        "ep.nvshmem.cuda-vmm is \"perhaps\" (from ENVIRONMENT NVSHMEM_DISABLE_CUDA_VMM),"
                                + " must be true or false");
    }

    @ParameterizedTest
    @CsvSource({"1048576,1048576", "64k,65536", "512M,536870912", "2G,2147483648", "1t,1099511627776", "0.5m,524288"})
    void theHeapHasNvshmemsSize(String text, long bytes) {
        assertThat(environment(Map.of("NVSHMEM_SYMMETRIC_SIZE", text)).get(NvshmemKeys.HEAP))
                .isEqualTo(bytes);
    }

    @Test
    void theOwnSettingComesBeforeTheVariable() {
        Map<String, String> variables = Map.of("NVSHMEM_DISABLE_CUDA_VMM", "1", "EP_NVSHMEM_CUDA_VMM", "true");
        assertThat(told(variables, "none")).containsEntry("NVSHMEM_DISABLE_CUDA_VMM", "0");
    }

    /** Everything that NVSHMEM reads and that the user has set arrives there unchanged. */
    @Test
    void variablesOfTheUserKeepTheirValues() {
        Map<String, String> variables = Map.ofEntries(
                Map.entry("NVSHMEM_DISABLE_NVLS", "0"),
                Map.entry("NVSHMEM_DISABLE_NCCL", "0"),
                Map.entry("NVSHMEM_DISABLE_LOCAL_ONLY_PROXY", "0"),
                Map.entry("NVSHMEM_IB_ENABLE_IBGDA", "0"),
                Map.entry("NVSHMEM_REMOTE_TRANSPORT", "ibrc"),
                Map.entry("NVSHMEM_QP_DEPTH", "2048"),
                Map.entry("NVSHMEM_IBGDA_NUM_DCI", "3"),
                Map.entry("NVSHMEM_IBGDA_NIC_HANDLER", "cpu"),
                Map.entry("NVSHMEM_IB_GID_INDEX", "3"),
                Map.entry("NVSHMEM_IB_SL", "1"),
                Map.entry("NVSHMEM_IB_TRAFFIC_CLASS", "104"),
                Map.entry("NVSHMEM_MAX_TEAMS", "7"),
                Map.entry("NVSHMEM_DISABLE_CUDA_VMM", "1"));
        for (String transport : List.of("none", "ibgda")) {
            Map<String, String> after = new TreeMap<>(variables);
            after.putAll(told(variables, transport));
            assertThat(after).as(transport).containsAllEntriesOf(variables);
        }
    }

    @Test
    void theTransportOfTheUserIsTaken() {
        for (String transport : List.of("none", "ucx", "libfabric", "ibdevx")) {
            assertThat(environment(Map.of("NVSHMEM_REMOTE_TRANSPORT", transport))
                            .get(NvshmemKeys.TRANSPORT))
                    .isEqualTo(transport);
        }
        // The own setting decides where it is given.
        Map<String, String> variables = Map.of(
                "NVSHMEM_REMOTE_TRANSPORT", "ucx", "NVSHMEM_IB_ENABLE_IBGDA", "0", "EP_NVSHMEM_TRANSPORT", "ibgda");
        assertThat(told(variables, "ibgda"))
                .containsEntry("NVSHMEM_REMOTE_TRANSPORT", "ibrc")
                .containsEntry("NVSHMEM_IB_ENABLE_IBGDA", "1");
    }

    @Test
    void everyKeyHasItsOwnName() {
        assertThat(NvshmemKeys.all())
                .extracting(key -> key.name())
                .doesNotHaveDuplicates()
                .allMatch(name -> name.startsWith("ep.nvshmem."));
    }
}
