package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.ep4j.cli.doctor.Examination.Verdict;
import org.ep4j.cli.doctor.Probe.Outcome;
import org.ep4j.cli.doctor.Probe.Outcome.NotApplicable;
import org.ep4j.cli.doctor.Probe.Outcome.Unusable;
import org.ep4j.cli.doctor.Probe.Outcome.Usable;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class DoctorSummaryTest {
    private static final Hardware LAPTOP = new Hardware("Debian 12", 2, 24_000_000_000L, List.of(), List.of());
    private static final Check FINE = Check.pass("EP-SHM-001", "device host");

    private static Probe backend(String name, Outcome outcome, boolean asked, String summary, Check... checks) {
        Map<String, String> facts = summary.isEmpty() ? Map.of() : Map.of(ProbeReport.SUMMARY, summary);
        return new Probe("backend", name, List.of("host:0"), outcome, asked, List.of(checks), facts);
    }

    private static Probe shm() {
        return backend("host-shm", new Usable(), false, "shared memory", FINE);
    }

    private static List<String> lines(List<Probe> probes, Check... checks) {
        Examination examined = new Examination("this machine", true, LAPTOP, probes, List.of(checks), List.of());
        return DoctorSummary.of(examined, "1.0").lines().toList();
    }

    @Test
    void aLaptopHasALineForEachPartAndNothingToMend() {
        Outcome other = new NotApplicable("device host is not an AMD GPU");
        assertThat(lines(List.of(shm(), backend("rocm", other, false, ""), backend("efa", new Usable(), false, "TCP"))))
                .containsExactly(
                        "ep4j 1.0 on Debian 12: 2 cores, 24 GB, no GPU, no RDMA NIC",
                        "[ok]  host     shared memory (backend host-shm)",
                        "[ok]  network  TCP (backend efa)",
                        "[ - ] NVIDIA   no NVIDIA GPU here",
                        "[ - ] AMD      no AMD GPU here: rocm does not apply",
                        "[ - ] RDMA     no RDMA NIC here",
                        "Nothing to mend. `./ep doctor --all` shows all 1 checks.");
    }

    @Test
    void whatFailedIsFirstWithItsRemedyThenWhatWarns() {
        Check missing = Check.fail("EP-ROC-002", "no driver", "modprobe amdgpu");
        Check low = Check.warn("EP-MEM-002", "/dev/shm has 64 MiB", "docker run --shm-size=1g");
        List<String> lines = lines(List.of(shm(), backend("rocm", new Unusable(), true, "", missing)), low);
        assertThat(lines.subList(1, 7))
                .containsExactly(
                        "[ x ] AMD      cannot be used",
                        "      EP-ROC-002  no driver",
                        "      -> modprobe amdgpu",
                        "[ ! ] host     shared memory (backend host-shm)",
                        "      EP-MEM-002  /dev/shm has 64 MiB",
                        "      -> docker run --shm-size=1g");
        assertThat(lines).last().asString().startsWith("2 things to mend. ");
    }

    @Test
    void aBackendThatIsNotNeededIsNamedWithWhatItLacksAndIsNothingToMend() {
        Check missing = Check.fail("EP-IBR-002", "libibverbs.so.1 is missing", "apt-get install libibverbs1");
        assertThat(lines(List.of(shm(), backend("ibrc-multiqp", new Unusable(), false, "", missing))))
                .containsSequence(
                        "[ - ] RDMA",
                        "      EP-IBR-002  ibrc-multiqp cannot be used: libibverbs.so.1 is missing",
                        "      -> apt-get install libibverbs1",
                        "Nothing to mend. `./ep doctor --all` shows all 2 checks.");
    }

    @Test
    void backendsOfOthersHaveTheirOwnLine() {
        assertThat(lines(List.of(shm(), backend("carrier", new Usable(), false, "", FINE))))
                .contains("[ok]  carrier  usable (backend carrier)");
        Outcome other = new NotApplicable("no pigeons here");
        assertThat(lines(List.of(shm(), backend("carrier", other, false, "", FINE))))
                .contains("[ - ] carrier  no pigeons here");
    }

    @Test
    void whatWasNotCheckedIsSaidWithWhatWouldHelp() {
        Check root = Check.notRun("EP-PCI-003", "cannot be read", "run doctor as root");
        Check other = Check.notRun("EP-PCI-001", "cannot be read", "run doctor as root");
        Check never = Check.notRun("EP-NET-001", "no counters");
        assertThat(lines(List.of(shm()), root, other, never))
                .contains("not checked: EP-PCI-003, EP-PCI-001; to check, run doctor as root");
    }

    @Test
    void oneFindingOfSeveralChecksIsOneThingToMend() {
        Check low = Check.warn("EP-MEM-002", "/dev/shm has 64 MiB", "docker run --shm-size=1g");
        Check same = Check.warn("EP-SHM-007", low.detail(), low.remedy());
        Probe shm = backend("host-shm", new Usable(), true, "shared memory", same);
        assertThat(lines(List.of(shm), low))
                .contains("      EP-SHM-007, EP-MEM-002  /dev/shm has 64 MiB")
                .last()
                .asString()
                .startsWith("1 thing to mend. ");
    }

    @Test
    void ofARecordingWithHardwareAndNoFindingThePartIsFine() {
        Hardware nics = new Hardware("", 0, 0, List.of(), List.of("mlx5_0", "mlx5_1"));
        Examination examined = new Examination("tree", false, nics, List.of(), List.of(FINE), List.of());
        assertThat(DoctorSummary.of(examined, "1.0").lines())
                .containsExactly(
                        "ep4j 1.0, recording tree: no GPU, 2 RDMA NICs",
                        "[ok]  host     no problems found",
                        "[ok]  RDMA     mlx5_0, mlx5_1",
                        "[ - ] NVIDIA   no NVIDIA GPU here",
                        "[ - ] AMD      no AMD GPU here",
                        "Nothing to mend. `./ep doctor --all` shows all 1 checks.");
    }

    /** The last line and the exit code, which is the verdict's, never contradict each other. */
    @Test
    void nothingIsToBeMendedExactlyWhereTheVerdictSaysSo() {
        Random random = new Random(38);
        List<String> names =
                List.of("host-shm", "efa", "ipc-nvlink", "nvshmem-ibgda", "rocm", "ibrc-multiqp", "carrier");
        for (int i = 0; i < 2_000; i++) {
            List<Probe> probes = new ArrayList<>();
            for (String name : names) {
                if (random.nextInt(3) > 0) {
                    Outcome outcome = List.of(new Usable(), new Unusable(), new NotApplicable("not here"))
                            .get(random.nextInt(3));
                    Check check = outcome instanceof Usable
                            ? random.nextInt(3) == 0 ? Check.warn("EP-A-1", "slow " + name, "") : FINE
                            : Check.fail("EP-A-2", "broken " + name, "mend " + name);
                    String device = random.nextInt(4) == 0 ? "cuda:0" : "host:0";
                    probes.add(new Probe(
                            "backend",
                            name,
                            List.of(device),
                            outcome,
                            random.nextInt(4) == 0,
                            List.of(check),
                            Map.of()));
                }
            }
            List<Check> checks = random.nextInt(4) == 0
                    ? List.of(Check.warn("EP-NIC-004", "down", "up"))
                    : List.of(Check.pass("EP-NIC-004", "fine"));
            boolean live = random.nextInt(4) > 0;
            Examination examined = new Examination(
                    "made up",
                    live,
                    LAPTOP,
                    live ? probes : List.of(),
                    checks,
                    random.nextInt(6) == 0 ? List.of("no plan") : List.of());
            boolean fine =
                    List.of(Verdict.USABLE, Verdict.CLEAN, Verdict.HOST_ONLY).contains(examined.verdict());
            assertThat(DoctorSummary.of(examined, "1.0").contains("Nothing to mend."))
                    .as("%s, drawn as number %s", examined, i)
                    .isEqualTo(fine);
        }
    }
}
