package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.cli.doctor.Examination.Verdict;
import org.ep4j.cli.doctor.Probe.Outcome;
import org.ep4j.cli.doctor.Probe.Outcome.NotApplicable;
import org.ep4j.cli.doctor.Probe.Outcome.Unusable;
import org.ep4j.cli.doctor.Probe.Outcome.Usable;
import org.ep4j.spi.Check;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class ExaminationTest {
    private static final Check PASS = Check.pass("EP-X-001", "fine");
    private static final Check WARN = Check.warn("EP-X-002", "slow", "make it fast");
    private static final Check FAIL = Check.fail("EP-X-003", "absent", "add it");
    private static final Check ABSENT = Check.notApplicable("EP-X-004", "no GPU", "");
    private static final Check ROOT = Check.notRun("EP-X-005", "cannot be read", "run it as root");

    private static final Hardware NO_GPU = new Hardware("Linux", 2, 8L << 30, List.of(), List.of());

    private static Probe backend(String name, String device, boolean usable, Check check) {
        return probe("backend", name, device, usable ? new Usable() : new Unusable(), false, check);
    }

    private static Probe probe(String kind, String name, String device, Outcome outcome, boolean asked, Check check) {
        return new Probe(kind, name, List.of(device), outcome, asked, List.of(check), Map.of());
    }

    private static Examination live(List<Probe> probes, Check... checks) {
        return new Examination("this machine", true, NO_GPU, probes, List.of(checks), List.of());
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
        assertThat(DoctorText.of(live(probes, WARN, FAIL), false))
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

    /** A machine with NVIDIA GPUs alone: nothing is wrong with it because backends of other hardware are there. */
    @Test
    void whatIsForOtherHardwareIsOneLineAndNoTrouble() {
        Outcome none = new NotApplicable("no AMD GPU");
        Examination examined = live(List.of(
                probe("device", "hip", "hip:0", none, false, FAIL),
                probe("backend", "rocm", "cuda:0", none, false, FAIL),
                backend("nvlink", "cuda:0", true, PASS),
                backend("nvshmem", "cuda:0", false, FAIL),
                backend("efa", "cuda:0", true, WARN)));
        assertThat(examined.verdict()).isEqualTo(Verdict.USABLE);
        assertThat(DoctorText.of(examined, false).lines())
                .contains(
                        "    no AMD GPU: device hip, backend rocm on cuda:0",
                        "  nvshmem on cuda:0: not usable, and not asked for",
                        "usable: 1 passed, 1 warnings, 0 failed, 0 not run, 2 not applicable; usable: cuda:0")
                .noneMatch(line -> line.startsWith("  rocm") || line.startsWith("  hip"));
        assertThat(DoctorText.of(examined, true).lines()).hasSize(1);
    }

    @Test
    void whatTheSettingsNameMustWork() {
        Probe healthy = backend("nvlink", "cuda:0", true, PASS);
        assertThat(live(List.of(healthy, probe("backend", "nvshmem", "cuda:0", new Unusable(), true, FAIL)))
                        .verdict())
                .isEqualTo(Verdict.PROBLEMS);
        assertThat(live(List.of(healthy, probe("backend", "efa", "cuda:0", new Usable(), true, WARN)))
                        .verdict())
                .isEqualTo(Verdict.WARNINGS);
    }

    @Test
    void onlyTheHostDeviceOrNothingIsAVerdictOfItsOwn() {
        List<Probe> host = List.of(backend("shm", "host:0", true, PASS));
        assertThat(live(host, PASS).verdict()).isEqualTo(Verdict.HOST_ONLY);
        assertThat(live(host, WARN).verdict()).isEqualTo(Verdict.WARNINGS);
        assertThat(live(List.of()).verdict()).isEqualTo(Verdict.NOTHING);
    }

    @Test
    void aBackendThatTheSettingsNameNeedNotServeEveryDevice() {
        Probe gpu = probe("backend", "nvlink", "cuda:0", new Usable(), true, PASS);
        Probe host = probe("backend", "nvlink", "host:0", new NotApplicable("no GPU"), true, FAIL);
        assertThat(live(List.of(gpu, host)).verdict()).isEqualTo(Verdict.USABLE);
    }

    @Test
    void whatTheSettingsNameIsAProblemWhereOnlyTheHostDeviceIsUsable() {
        Probe host = backend("shm", "host:0", true, PASS);
        Probe other = new Probe(
                        "backend",
                        "rocm",
                        List.of("host:0"),
                        new NotApplicable("no AMD GPU"),
                        true,
                        List.of(Check.notApplicable("EP-ROC-001", "device host is not an AMD GPU", "use host-shm")),
                        Map.of())
                .failed();
        assertThat(live(List.of(host, other)).verdict()).isEqualTo(Verdict.PROBLEMS);
        assertThat(other.checks())
                .containsExactly(Check.fail("EP-ROC-001", "device host is not an AMD GPU", "use host-shm"));
    }

    @Test
    void aRecordingIsJudgedByItsChecks() {
        assertThat(new Examination("tree", false, NO_GPU, List.of(), List.of(PASS), List.of()).verdict())
                .isEqualTo(Verdict.CLEAN);
        assertThat(new Examination("tree", false, NO_GPU, List.of(), List.of(FAIL), List.of()).verdict())
                .isEqualTo(Verdict.PROBLEMS);
        assertThat(new Examination("tree", false, NO_GPU, List.of(), List.of(WARN), List.of()).verdict())
                .isEqualTo(Verdict.WARNINGS);
    }

    @Test
    void ofARecordingItIsSaidWhatWasExaminedAndNotThatItIsUsable() {
        assertThat(DoctorText.of(
                        new Examination("tree", false, NO_GPU, List.of(), List.of(PASS, ABSENT), List.of()), false))
                .contains(
                        "recording examined by 1 of 2 checks, no device or backend was probed; no problems found: 1 passed")
                .doesNotContain("usable");
    }

    @Test
    void everyLineHasCodeStatusDetailAndRemedy() {
        String text = DoctorText.of(live(List.of(backend("nvlink", "cuda:0", true, PASS)), WARN, ROOT, ABSENT), false);
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
        String text =
                DoctorText.of(live(List.of(backend("nvlink", "cuda:0", true, PASS)), PASS, WARN, ROOT, ABSENT), true);
        assertThat(text).contains("EP-X-002").doesNotContain("EP-X-001", "EP-X-004", "EP-X-005", "nvlink on");
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
