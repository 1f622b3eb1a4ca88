package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.cli.doctor.Probe.Outcome;
import org.ep4j.cli.doctor.Probe.Outcome.NotApplicable;
import org.ep4j.cli.doctor.Probe.Outcome.Unusable;
import org.ep4j.cli.doctor.Probe.Outcome.Usable;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
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
        Examined examined = new Examined("this machine", true, LAPTOP, probes, List.of(checks), List.of());
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
                        "[ - ] NVIDIA   no backend for it is installed",
                        "[ - ] AMD      no GPU here: rocm does not apply",
                        "[ - ] RDMA     no backend for it is installed",
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
                        "[ - ] RDMA     not set up, and not needed here",
                        "      without ibrc-multiqp: libibverbs.so.1 is missing (EP-IBR-002)",
                        "Nothing to mend. `./ep doctor --all` shows all 2 checks.");
    }

    @Test
    void backendsOfOthersHaveTheirOwnLine() {
        assertThat(lines(List.of(shm(), backend("carrier", new Usable(), false, "", FINE))))
                .contains("[ok]  carrier  carrier");
    }

    @Test
    void whatWasNotCheckedIsSaidWithWhatWouldHelp() {
        Check root = new Check("EP-PCI-003", Status.NOT_RUN, "cannot be read", "run it as root");
        Check other = new Check("EP-PCI-001", Status.NOT_RUN, "cannot be read", "run it as root");
        Check never = new Check("EP-NET-001", Status.NOT_RUN, "no counters", "");
        assertThat(lines(List.of(shm()), root, other, never))
                .contains("not checked: EP-PCI-003, EP-PCI-001 -> run it as root");
    }
}
