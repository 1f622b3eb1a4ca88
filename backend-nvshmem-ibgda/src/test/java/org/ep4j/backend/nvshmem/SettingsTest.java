package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.ep4j.EpConfig;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class SettingsTest {
    private static EpConfig config(Map<String, String> settings) {
        EpConfig.Builder builder = EpConfig.builder();
        settings.forEach(builder::set);
        return builder.build();
    }

    @Test
    void withoutANicTheTransportIsNone() {
        Map<String, String> all = NvshmemKeys.variables(config(Map.of()), "none", 4, List.of());
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
            assertThat(NvshmemKeys.variables(config(Map.of()), transport, 1, List.of()))
                    .containsEntry("NVSHMEM_REMOTE_TRANSPORT", transport)
                    .containsEntry("NVSHMEM_IB_ENABLE_IBGDA", "0");
        }
    }

    /** A must where CUDA's virtual memory management does not work with NVSHMEM, as in some clouds. */
    @Test
    void whatScriptsSetOfTheHeapIsKept() {
        EpConfig script = EpConfig.builder(
                        Map.of(), Map.of("NVSHMEM_DISABLE_CUDA_VMM", "1", "NVSHMEM_SYMMETRIC_SIZE", "1.5G"))
                .build();
        assertThat(NvshmemKeys.variables(script, "none", 4, List.of()))
                .containsEntry("NVSHMEM_DISABLE_CUDA_VMM", "1")
                .containsEntry("NVSHMEM_SYMMETRIC_SIZE", Long.toString(3L << 29));
        for (String off : List.of("0", "FALSE", "no")) {
            EpConfig managed = EpConfig.builder(Map.of(), Map.of("NVSHMEM_DISABLE_CUDA_VMM", off))
                    .build();
            assertThat(NvshmemKeys.variables(managed, "none", 4, List.of()))
                    .as(off)
                    .containsEntry("NVSHMEM_DISABLE_CUDA_VMM", "0");
        }
    }

    @Test
    void whoPostsIsReadFromMscclppsVariable() {
        Map<String, String> transports = Map.of("1", "ibgda", "0", "ibrc");
        transports.forEach((value, transport) -> assertThat(
                        NvshmemKeys.TRANSPORT.get(EpConfig.builder(Map.of(), Map.of("MSCCLPP_EP_USE_IBGDA", value))
                                .build()))
                .isEqualTo(transport));
    }

    @Test
    void everyKeyHasItsOwnName() {
        assertThat(NvshmemKeys.all())
                .extracting(key -> key.name())
                .doesNotHaveDuplicates()
                .allMatch(name -> name.startsWith("ep.nvshmem."));
    }

    @Test
    void thePageNamesEveryVariableThatIsReplacedAndNoOther() throws IOException {
        EpConfig config = config(Map.of(
                "ep.nvshmem.cuda-vmm", "false",
                "ep.nvshmem.dcis", "2",
                "ep.nic.gid-index", "3",
                "ep.nic.service-level", "1",
                "ep.nic.traffic-class", "104"));
        Set<String> replaced = new TreeSet<>();
        for (String transport : List.of("none", "ibgda", "ibrc")) {
            replaced.addAll(NvshmemKeys.variables(config, transport, 4, List.of("mlx5_0:1"))
                    .keySet());
        }
        String page = Files.readString(Path.of("../docs/backends/nvshmem-ibgda.md"));
        int from = page.indexOf("| variable | value that ep4j sets |");
        String table = page.substring(from, page.indexOf("All other variables of NVSHMEM keep their values", from));
        Set<String> named = Pattern.compile("NVSHMEM_[A-Z_]+")
                .matcher(table)
                .results()
                .map(MatchResult::group)
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(named).isEqualTo(replaced);
    }
}
