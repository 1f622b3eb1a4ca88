package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.ep4j.doctor.DoctorCode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

final class DoctorCommandTest {
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
                            case "USABLE" -> 0;
                            case "WARNINGS" -> 1;
                            default -> 2;
                        });
        List<String> found = new ArrayList<>();
        json.get("checks").forEach(check -> found.add(check.get("code").asString()));
        assertThat(found)
                .isEqualTo(
                        Arrays.stream(DoctorCode.values()).map(DoctorCode::code).toList());
    }

    @Test
    void theBackendsAndDevicesThatAreInstalledAreProbed() {
        assertThat(Ran.ep("doctor").out()).contains("  host on host:0", "  host-shm on host:0", "EP-SHM-001");
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
    void aRecordingIsExaminedWithoutProbes() throws IOException {
        Ran ran = Ran.ep("doctor", "--root", recording("1: DOWN").toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(1);
        assertThat(ran.out())
                .containsPattern("FAIL +EP-NIC-004 +down: mlx5_0:1")
                .doesNotContain("host-shm");
    }

    @Test
    void problemsAloneLeaveOutWhatPassed() throws IOException {
        Path root = recording("1: DOWN");
        assertThat(Ran.ep("doctor", "--root", root.toString()).out()).contains("PASS ");
        assertThat(Ran.ep("doctor", "--root", root.toString(), "--problems").out())
                .contains("EP-NIC-004")
                .doesNotContain("PASS ", "NOT RUN", "not applicable here");
    }

    @Test
    void theJsonGoesToAFileWhenOneIsNamed() throws IOException {
        Path file = folder.resolve("doctor.json");
        Ran ran = Ran.ep("doctor", "--root", recording("4: ACTIVE").toString(), "--json", file.toString());
        assertThat(ran.out()).contains("EP-NIC-004");
        assertThat(parse(Files.readString(file)).get("live").asBoolean()).isFalse();
    }

    @Test
    void aFolderWithoutARecordingIsRefused() {
        Ran ran = Ran.ep("doctor", "--root", folder.toString());
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains(folder.toString());
    }
}
