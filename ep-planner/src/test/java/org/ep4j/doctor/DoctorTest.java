package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.NicPort;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class DoctorTest {
    @TempDir
    private Path root;

    private static List<Check> troubles(List<Check> checks) {
        return checks.stream()
                .filter(check -> check.status() == Status.WARN || check.status() == Status.FAIL)
                .toList();
    }

    @Test
    void healthyMachinesGiveNeitherWarningNorFailure() {
        assertThat(troubles(FakeSystem.plain(root.resolve("plain")).examine())).isEmpty();
        assertThat(troubles(FakeSystem.nvidia(root.resolve("nvidia")).examine()))
                .isEmpty();
        assertThat(troubles(FakeSystem.amd(root.resolve("amd"), "gfx942", NicFamily.IONIC)
                        .examine()))
                .extracting(Check::code)
                .containsExactly(DoctorCode.VERBS_DRIVERS.code());
    }

    @Test
    void everyCodeGivesExactlyOneCheckInItsOrderWhateverTheMachine() {
        List<String> codes =
                Arrays.stream(DoctorCode.values()).map(DoctorCode::code).toList();
        for (FakeSystem system : List.of(
                FakeSystem.plain(root.resolve("a")),
                FakeSystem.nvidia(root.resolve("b")),
                FakeSystem.amd(root.resolve("c"), "gfx942", NicFamily.BNXT))) {
            assertThat(system.examine()).extracting(Check::code).isEqualTo(codes);
        }
    }

    @Test
    void codesAreUniqueAndOfOneForm() {
        Set<String> seen = new HashSet<>();
        for (DoctorCode code : DoctorCode.values()) {
            assertThat(code.code()).matches("EP-[A-Z0-9]+-[0-9]{3}");
            assertThat(seen.add(code.code())).isTrue();
        }
    }

    @Test
    void aFindingThatDoesNotPassNamesTheRemedy() {
        FakeSystem broken = FakeSystem.plain(root);
        broken.settings.put("ep.timeout", "soon");
        broken.gpu(0, GpuVendor.NVIDIA, "sm_100", "uuid/1").warn("odd");
        broken.farNic("siw0", NicFamily.SIW, FakeSystem.port(NicPort.State.DOWN, 100, FakeSystem.LINK_LOCAL));
        assertThat(troubles(broken.examine())).isNotEmpty().allSatisfy(check -> {
            assertThat(check.remedy()).isNotEmpty();
            assertThat(check.detail()).isNotEmpty();
        });
    }

    @Test
    void onAMachineWithoutGpusAndRdmaTheirChecksAreNotApplicable() {
        List<Check> checks = FakeSystem.plain(root).examine();
        assertThat(checks.stream().filter(check -> check.status() == Status.NOT_APPLICABLE))
                .hasSizeGreaterThan(20);
        assertThat(checks.stream().filter(check -> check.status() == Status.PASS))
                .extracting(Check::code)
                .containsExactly(
                        DoctorCode.SETTINGS.code(), DoctorCode.MACHINE_READ.code(), DoctorCode.SHARED_MEMORY.code());
    }

    @Test
    void oddityOfTheMachineAndWrongSettingsAreReported() {
        FakeSystem system = FakeSystem.plain(root).warn("a switch without address");
        system.settings.put("ep.timeout", "soon");
        assertThat(system.check(DoctorCode.MACHINE_READ).detail()).contains("a switch without address");
        Check settings = system.check(DoctorCode.SETTINGS);
        assertThat(settings.status()).isEqualTo(Status.FAIL);
        assertThat(settings.detail()).contains("ep.timeout", "soon");
    }

    @Test
    void warnsOfAMisspeltVariable() {
        FakeSystem system = FakeSystem.plain(root);
        system.environment.put("EP_BOOTSTRAP_SECRTE", "hunter2");
        Check settings = system.check(DoctorCode.SETTINGS);
        assertThat(settings.status()).isEqualTo(Status.WARN);
        assertThat(settings.detail())
                .isEqualTo("EP_BOOTSTRAP_SECRTE is no setting of ep4j; the nearest known one is EP_BOOTSTRAP_SECRET");
        assertThat(settings.remedy()).startsWith("correct the name, or unset the variable");
        system.settings.put("ep.timeout", "soon");
        settings = system.check(DoctorCode.SETTINGS);
        assertThat(settings.status()).isEqualTo(Status.FAIL);
        assertThat(settings.detail()).contains("ep.timeout", "EP_BOOTSTRAP_SECRTE");
    }
}
