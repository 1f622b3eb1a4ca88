package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.ep4j.cli.report.Wrapped;
import org.ep4j.doctor.DoctorCode;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class DoctorCommandTest {
    /** Checks of what cannot be called where JNA does not start. */
    private static final List<String> BY_JNA =
            List.of("EP-HOST-002", "EP-CUDA-002", "EP-HIP-002", "EP-SHM-003", "EP-EFA-002", "EP-IBR-002");

    @TempDir
    private Path folder;

    private static JsonNode parse(String text) {
        return JsonMapper.builder().build().readTree(text);
    }

    @Test
    void onThisMachineEveryCheckIsThereOnceAndTheExitCodeIsTheVerdict() {
        Ran ran = Ran.ep("doctor", "--json");
        JsonNode json = parse(ran.out());
        assertThat(ran.code())
                .isEqualTo(
                        switch (json.get("verdict").asString()) {
                            case "USABLE", "HOST_ONLY" -> 0;
                            default -> 1;
                        });
        List<String> found = new ArrayList<>();
        json.get("checks").forEach(check -> found.add(check.get("code").asString()));
        assertThat(found)
                .isEqualTo(
                        Arrays.stream(DoctorCode.values()).map(DoctorCode::code).toList());
    }

    @Test
    void theBackendsAndDevicesThatAreInstalledAreProbed() {
        assertThat(Ran.ep("doctor", "--all").out()).contains("  host on host:0", "  host-shm on host:0", "EP-SHM-001");
    }

    /** As in a home from which nothing can be run: every backend gives the one reason, and none is blamed. */
    @Test
    void whereJnaCannotStartAllProbesNameItsFolder() throws Exception {
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(LocalRanks.javaCommand(
                        List.of("-Djna.tmpdir=/proc/self"), Main.class.getName(), List.of("doctor", "--json")))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        List<String> failed = new ArrayList<>();
        parse(Files.readString(output))
                .get("probes")
                .forEach(probe -> probe.get("checks").forEach(check -> {
                    String code = check.get("code").asString();
                    if (check.get("status").asString().equals("FAIL") && BY_JNA.contains(code)) {
                        failed.add(code);
                        assertThat(check.get("detail").asString()).startsWith("JNA, through which");
                        assertThat(check.get("remedy").asString()).contains("/proc/self", "-Djna.tmpdir");
                    }
                }));
        assertThat(failed).contains("EP-HOST-002", "EP-CUDA-002", "EP-SHM-003");
        assertThat(parse(Files.readString(output)).get("verdict").asString()).isEqualTo("NOTHING");
    }

    private Path recording(String state) throws IOException {
        Path root = folder.resolve("recording");
        Path port = root.resolve("sys/class/infiniband/mlx5_0/ports/1");
        Files.createDirectories(port);
        Files.writeString(port.resolve("state"), state);
        Files.writeString(port.resolve("rate"), "400 Gb/sec (4X NDR)");
        Files.writeString(port.resolve("link_layer"), "InfiniBand");
        Files.createDirectories(root.resolve("proc"));
        Files.writeString(root.resolve("proc/mounts"), "shm /dev/shm tmpfs rw,size=64g 0 0");
        return root;
    }

    @Test
    void theSummaryBeginsWithWhatIsToBeMendedAndEndsWithHowMuch() throws IOException {
        Ran ran = Ran.ep("doctor", "--root", recording("1: DOWN").toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(1);
        List<String> lines = ran.out().lines().toList();
        assertThat(lines.get(0)).startsWith("ep4j ").endsWith("no GPU, 1 RDMA NIC");
        assertThat(lines.get(1)).isEqualTo("[ x ] RDMA     mlx5_0");
        assertThat(lines.get(2)).startsWith("      EP-NIC-004  down: mlx5_0:1");
        assertThat(lines).contains("[ - ] NVIDIA   no NVIDIA GPU here");
        assertThat(lines.get(lines.size() - 1))
                .matches("[0-9]+ things? to mend\\. `\\./ep doctor --all` shows all [0-9]+ checks\\.");
        assertThat(lines).allMatch(line -> line.length() <= Wrapped.COLUMNS);
    }

    @Test
    void onThisMachineTheSummaryHasALineForEachPart() {
        String out = Ran.ep("doctor").out();
        for (String part : List.of("host", "network", "NVIDIA", "AMD", "RDMA")) {
            assertThat(out.lines().filter(line -> line.matches("\\[.{1,3}] +" + part + " .*")))
                    .as(part)
                    .hasSize(1);
        }
        assertThat(out.lines()).allMatch(line -> line.length() <= Wrapped.COLUMNS);
    }

    @Test
    void aRecordingIsExaminedWithoutProbes() throws IOException {
        Ran ran = Ran.ep("doctor", "--all", "--root", recording("1: DOWN").toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(1);
        assertThat(ran.out())
                .containsPattern("FAIL +EP-NIC-004 +down: mlx5_0:1")
                .containsPattern("recording examined by [0-9]+ of [0-9]+ checks, .*probed; problems found: ")
                .doesNotContain("host-shm");
    }

    @Test
    void aRecordingInAFolderOfItsOwnIsExaminedWithItsFiles() throws IOException {
        recording("4: ACTIVE");
        assertThat(Ran.ep("doctor", "--all", "--root", folder.toString()).out())
                .containsPattern("PASS +EP-NIC-004 ")
                .containsPattern("EP-MEM-002 +/dev/shm has ");
    }

    @Test
    void problemsAloneLeaveOutWhatPassed() throws IOException {
        Path root = recording("1: DOWN");
        assertThat(Ran.ep("doctor", "--all", "--root", root.toString()).out()).contains("PASS ");
        assertThat(Ran.ep("doctor", "--root", root.toString(), "--problems").out())
                .contains("EP-NIC-004")
                .doesNotContain("PASS ", "NOT RUN", "not applicable here");
    }

    @Test
    void theJsonGoesToAFileWhenOneIsNamed() throws IOException {
        Path file = folder.resolve("doctor.json");
        Ran ran = Ran.ep("doctor", "--all", "--root", recording("4: ACTIVE").toString(), "--json", file.toString());
        assertThat(ran.out()).contains("EP-NIC-004");
        assertThat(parse(Files.readString(file)).get("live").asBoolean()).isFalse();
    }

    @Test
    void aFolderWithoutARecordingIsRefused() {
        Ran ran = Ran.ep("doctor", "--root", folder.toString());
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains(folder.toString());
    }

    @Test
    void variablesOfAProcessOnTheRecordedMachineAreExamined() throws IOException {
        String root = recording("4: ACTIVE").toString();
        Path file = folder.resolve("environ");
        assertThat(Ran.ep("doctor", "--all", "--root", root).out()).doesNotContain("mlx5_77");
        for (String between : List.of("\n", "\0")) {
            Files.writeString(
                    file, String.join(between, "PATH=/bin", "NCCL_IB_HCA==mlx5_77", "EP_NIC_GID_INDEX=no", ""));
            Ran ran = Ran.ep("doctor", "--all", "--root", root, "--env", file.toString());
            assertThat(ran.out())
                    .containsPattern("WARN +EP-NIC-006 +.*NCCL_IB_HCA names mlx5_77")
                    .containsPattern("FAIL +EP-CFG-001 +.*ep.nic.gid-index is \"no\"");
        }
    }

    @Test
    void theFileOfTheProviderIsReadFromTheRecording() throws IOException {
        String root = recording("4: ACTIVE").toString();
        Path file = folder.resolve("environ");
        Files.writeString(file, "NCCL_TOPO_FILE=/opt/none.xml\n");
        assertThat(Ran.ep("doctor", "--all", "--root", root, "--env", file.toString())
                        .out())
                .containsPattern("WARN +EP-TOPO-001 +.*NCCL_TOPO_FILE = /opt/none.xml cannot be read");
    }

    @Test
    void aVariableThatIsNoSettingIsWarnedOfWithTheNearestName() throws IOException {
        String root = recording("4: ACTIVE").toString();
        Path file = folder.resolve("environ");
        Files.writeString(
                file, "EP_TCK_REQUIRE=efa\nEP_IBRC_DEPTH=128\nEP_NVSHMEM=/opt/nvshmem\nEP_SHM_DIR=/dev/shm\n");
        assertThat(Ran.ep("doctor", "--all", "--root", root, "--env", file.toString())
                        .out())
                .containsPattern("PASS +EP-CFG-001 +[0-9]+ settings have values that can be read");
        Files.writeString(file, "EP_IBRC_DETPH=128\nEP_BOOTSTRAP_SECRTE=hunter2\n");
        assertThat(Ran.ep("doctor", "--all", "--root", root, "--env", file.toString())
                        .out())
                .containsPattern(
                        "WARN +EP-CFG-001 +EP_BOOTSTRAP_SECRTE is no setting of ep4j; the nearest known one is"
                                + " EP_BOOTSTRAP_SECRET; EP_IBRC_DETPH is no setting of ep4j; the nearest known one is EP_IBRC_DEPTH")
                .doesNotContain("hunter2");
    }

    @Test
    void variablesWithoutARecordingOrInAnUnknownFormAreRefused() throws IOException {
        Path file = Files.writeString(folder.resolve("environ"), "{\"NCCL_IB_HCA\": 1}");
        Ran alone = Ran.ep("doctor", "--env", file.toString());
        assertThat(alone.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(alone.err()).contains("--root");
        String root = recording("4: ACTIVE").toString();
        Ran odd = Ran.ep("doctor", "--all", "--root", root, "--env", file.toString());
        assertThat(odd.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(odd.err()).contains(file.toString(), "NAME=VALUE");
        Ran missing = Ran.ep("doctor", "--root", root, "--env", file + "-not-there");
        assertThat(missing.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(missing.err()).contains("cannot be read");
    }
}
