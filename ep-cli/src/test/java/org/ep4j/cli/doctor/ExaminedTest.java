package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.ep4j.cli.doctor.DoctorText.Detail;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

final class ExaminedTest {
    private static final Check PASS = Check.pass("EP-X-001", "fine");
    private static final Check WARN = Check.warn("EP-X-002", "slow", "make it fast");
    private static final Check FAIL = Check.fail("EP-X-003", "absent", "add it");
    private static final Check ABSENT = new Check("EP-X-004", Status.NOT_RUN, "not applicable here: no GPU", "");
    private static final Check ROOT = new Check("EP-X-005", Status.NOT_RUN, "cannot be read", "run it as root");

    private static Probe backend(String name, String device, boolean usable, Check check) {
        return new Probe("backend", name, List.of(device), usable, true, List.of(check));
    }

    private static Probe forOtherHardware(String kind, String name) {
        return new Probe(kind, name, List.of("host:0"), false, false, List.of(FAIL, ABSENT));
    }

    private static Examined live(List<Probe> probes, Check... checks) {
        return new Examined("this machine", true, probes, List.of(checks), List.of());
    }

    @Test
    void aGpuThatABackendCanUseIsUsable() {
        List<Probe> probes = List.of(backend("nvlink", "cuda:0", true, PASS), backend("shm", "cuda:0", false, FAIL));
        assertThat(live(probes, PASS, ABSENT, ROOT).verdict()).isEqualTo(Verdict.USABLE);
    }

    @Test
    void warningsAndFailuresOfChecksCount() {
        List<Probe> probes = List.of(backend("nvlink", "cuda:0", true, PASS));
        assertThat(live(probes, WARN).verdict()).isEqualTo(Verdict.WARNINGS);
        assertThat(live(probes, FAIL).verdict()).isEqualTo(Verdict.PROBLEMS);
        assertThat(DoctorText.of(live(probes, WARN, FAIL), Detail.APPLICABLE))
                .contains("problems found: ")
                .doesNotContain("usable with warnings");
        assertThat(live(List.of(backend("nvlink", "cuda:0", true, WARN))).verdict())
                .isEqualTo(Verdict.WARNINGS);
    }

    @Test
    void aDeviceThatNoBackendCanUseIsAProblemWhereAnotherCan() {
        List<Probe> probes = List.of(backend("nvlink", "cuda:0", true, PASS), backend("nvlink", "cuda:1", false, FAIL));
        assertThat(live(probes).verdict()).isEqualTo(Verdict.PROBLEMS);
    }

    @Test
    void onlyTheHostDeviceOrNothingIsAVerdictOfItsOwn() {
        assertThat(live(List.of(backend("shm", "host:0", true, PASS)), WARN).verdict())
                .isEqualTo(Verdict.HOST_ONLY);
        assertThat(live(List.of()).verdict()).isEqualTo(Verdict.HOST_ONLY);
    }

    @Test
    void aRecordingIsJudgedByItsChecks() {
        assertThat(new Examined("tree", false, List.of(), List.of(PASS), List.of()).verdict())
                .isEqualTo(Verdict.CLEAN);
        assertThat(new Examined("tree", false, List.of(), List.of(FAIL), List.of()).verdict())
                .isEqualTo(Verdict.PROBLEMS);
        assertThat(new Examined("tree", false, List.of(), List.of(WARN), List.of()).verdict())
                .isEqualTo(Verdict.WARNINGS);
    }

    @Test
    void ofARecordingItIsSaidWhatWasExaminedAndNotThatItIsUsable() {
        assertThat(DoctorText.of(
                        new Examined("tree", false, List.of(), List.of(PASS, ABSENT), List.of()), Detail.APPLICABLE))
                .contains(
                        "recording examined by 1 of 2 checks, no device or backend was probed; nothing amiss: 1 passed")
                .doesNotContain("usable");
    }

    @Test
    void everyLineHasCodeStatusDetailAndRemedy() {
        String text = DoctorText.of(
                live(List.of(backend("nvlink", "cuda:0", true, PASS)), WARN, ROOT, ABSENT), Detail.APPLICABLE);
        assertThat(text.lines())
                .contains("  nvlink on cuda:0: usable")
                .anyMatch(line -> line.matches(" +PASS +EP-X-001 +fine"))
                .anyMatch(line -> line.matches(" +WARN +EP-X-002 +slow"))
                .anyMatch(line -> line.matches(" +-> make it fast"))
                .anyMatch(line -> line.matches(" +NOT RUN +EP-X-005 +cannot be read"))
                .contains("    no GPU: EP-X-004")
                .last()
                .asString()
                .isEqualTo("usable with warnings: 1 passed, 1 warnings, 0 failed, 1 not run, 1 not applicable;"
                        + " usable: cuda:0");
    }

    @Test
    void problemsAloneAreShownOnRequest() {
        String text = DoctorText.of(
                live(List.of(backend("nvlink", "cuda:0", true, PASS)), PASS, WARN, ROOT, ABSENT), Detail.PROBLEMS);
        assertThat(text).contains("EP-X-002").doesNotContain("EP-X-001", "EP-X-004", "EP-X-005", "nvlink on");
    }

    /** As on a laptop: no GPU, no NIC with RDMA. */
    @Test
    void whatIsForOtherHardwareIsNoFailureAndIsNamedInALine() {
        List<Probe> probes = List.of(
                forOtherHardware("device", "cuda"),
                backend("shm", "host:0", true, PASS),
                forOtherHardware("backend", "nvlink"));
        String text = DoctorText.of(live(probes, PASS), Detail.APPLICABLE);
        assertThat(text.lines())
                .contains("    for hardware that is not there (--all shows what they lack): cuda, nvlink")
                .noneMatch(line -> line.contains("EP-X-003"))
                .last()
                .asString()
                .contains("2 passed, 0 warnings, 0 failed, 0 not run, 4 not applicable");
        assertThat(DoctorText.of(live(probes, PASS), Detail.ALL).lines())
                .contains("  nvlink on host:0: for hardware that is not there")
                .anyMatch(line -> line.matches(" +FAIL +EP-X-003 +absent"));
        assertThat(DoctorText.of(live(probes, PASS), Detail.PROBLEMS)).doesNotContain("nvlink", "EP-X-003");
        List<Probe> withGpu = List.of(forOtherHardware("device", "hip"), backend("nvlink", "cuda:0", true, PASS));
        assertThat(live(withGpu, PASS).verdict()).isEqualTo(Verdict.USABLE);
        JsonNode json = JsonMapper.builder().build().readTree(DoctorJson.of(live(probes, PASS), false));
        assertThat(json.get("probes").get(0).get("applicable").asBoolean()).isFalse();
        assertThat(json.get("probes").get(0).get("checks").get(0).get("code").asString())
                .isEqualTo("EP-X-003");
        assertThat(json.get("probes").get(1).get("applicable").asBoolean()).isTrue();
    }

    @Test
    void whatSomebodyCanDoSomethingAboutComesFirst() {
        List<Probe> probes = List.of(backend("shm", "cuda:0", true, PASS), backend("nvlink", "cuda:0", true, WARN));
        assertThat(DoctorText.of(live(probes, PASS, FAIL), Detail.APPLICABLE))
                .containsSubsequence("nvlink on", "shm on", "EP-X-003", "EP-X-001");
    }

    @Test
    void theJsonSaysTheSame() {
        JsonNode json = JsonMapper.builder()
                .build()
                .readTree(DoctorJson.of(live(List.of(backend("nvlink", "cuda:0", true, PASS)), WARN, ABSENT), false));
        assertThat(json.get("verdict").asString()).isEqualTo("WARNINGS");
        assertThat(json.get("probes").get(0).get("checks").get(0).get("code").asString())
                .isEqualTo("EP-X-001");
        assertThat(json.get("checks").get(0).get("remedy").asString()).isEqualTo("make it fast");
        assertThat(json.get("checks").get(1).get("applicable").asBoolean()).isFalse();
    }
}
