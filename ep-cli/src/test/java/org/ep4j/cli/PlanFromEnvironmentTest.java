package org.ep4j.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code ep plan --from-env} in processes that have variables of other systems. */
@Tag("verify")
final class PlanFromEnvironmentTest {
    @TempDir
    private Path folder;

    /** Runs a plan for a machine without devices. */
    private Ran plan(Map<String, String> variables, String... options) throws IOException, InterruptedException {
        Path machine = Files.writeString(
                folder.resolve("machine.xml"),
                "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\""
                        + " modelid=\"143\"></cpu></system>");
        List<String> arguments =
                new ArrayList<>(List.of("plan", "--file", machine.toString(), "--ranks-per-host", "2", "--from-env"));
        arguments.addAll(List.of(options));
        Path err = folder.resolve("err");
        ProcessBuilder builder = new ProcessBuilder(LocalRanks.javaCommand(List.of(), Main.class.getName(), arguments))
                .redirectError(err.toFile());
        builder.environment().keySet().removeIf(name -> name.matches("(EP|NCCL|NVSHMEM|UCCL)_.*"));
        builder.environment().putAll(variables);
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), UTF_8);
        return new Ran(process.waitFor(), out, Files.readString(err));
    }

    @Test
    void theVariablesAreExplainedBeforeThePlan() throws Exception {
        Ran ran = plan(Map.of(
                "NCCL_IB_GID_INDEX", "3",
                "NVSHMEM_IB_GID_INDEX", "1",
                "NCCL_NVLS_ENABLE", "0",
                "EP_BOOTSTRAP_SECRET", "hunter2"));
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out().lines().toList().get(0)).isEqualTo("Variables");
        assertThat(ran.out())
                .containsSubsequence(
                        "EP_BOOTSTRAP_SECRET",
                        "NCCL_IB_GID_INDEX",
                        "-> ep.nic.gid-index = 3",
                        "NCCL_NVLS_ENABLE",
                        "no effect: ",
                        "NVSHMEM_IB_GID_INDEX",
                        "does not count: ep.nic.gid-index = 3 from NCCL_IB_GID_INDEX does",
                        "2 ranks of device host",
                        "ep.nic.gid-index = 3 from variable NCCL_IB_GID_INDEX",
                        "Forecast")
                .doesNotContain("hunter2");
        assertThat(plan(Map.of()).out()).contains("Variables: none begins with", "NVSHMEM_", "Forecast");
    }

    @Test
    void theJsonHasThemAsAnArray() throws Exception {
        Ran ran = plan(Map.of("NCCL_IB_GID_IDX", "3"), "--json");
        assertThat(ran.code()).as(ran.err()).isZero();
        JsonNode json = JsonMapper.shared().readTree(ran.out());
        assertThat(json.get("ranks").asInt()).isEqualTo(2);
        assertThat(json.get("variables")).hasSize(1);
        assertThat(json.get("variables").get(0).get("effect").asString()).isEqualTo("UNKNOWN");
        assertThat(json.get("variables").get(0).get("meaning").asString()).contains("NCCL_IB_GID_INDEX");
    }

    @Test
    void aValueThatIsRefusedIsShownInTheTableAndIsAnError() throws Exception {
        Map<String, String> variables = Map.of("NCCL_IB_TC", "high", "UCCL_IB_SL", "3");
        Ran text = plan(variables);
        assertThat(text.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(text.out())
                .contains("refused: ep.nic.traffic-class is \"high\"", "-> ep.nic.service-level = 3")
                .doesNotContain("Forecast");
        assertThat(text.err()).contains("ep.nic.traffic-class is \"high\"", "NCCL_IB_TC");
        Ran json = plan(variables, "--json");
        assertThat(json.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(JsonMapper.shared()
                        .readTree(json.out())
                        .get("variables")
                        .get(0)
                        .get("effect")
                        .asString())
                .isEqualTo("REFUSED");
    }

    /** What the guide for users of DeepEP says of a variable, the command can say, too. */
    @Test
    void everyVariableOfTheGuideIsKnown() throws Exception {
        String guide = Files.readString(Repository.root().resolve("docs/guide/migrating-from-deepep.md"));
        Map<String, String> variables = new TreeMap<>();
        Pattern.compile("`((?:NCCL|NVSHMEM|UCCL|MSCCLPP_EP|DEEP_EP)_[A-Z0-9_]*[A-Z0-9])(?:=\\w+)?`")
                .matcher(guide.substring(guide.indexOf("## Environment variables")))
                .results()
                .forEach(found -> variables.put(found.group(1), "0"));
        assertThat(variables).hasSizeGreaterThan(30);
        JsonNode rows =
                JsonMapper.shared().readTree(plan(variables, "--json").out()).get("variables");
        assertThat(rows.size()).isGreaterThanOrEqualTo(variables.size());
        for (JsonNode row : rows) {
            assertThat(row.get("effect").asString()).as(row.toString()).isNotEqualTo("UNKNOWN");
        }
    }
}
