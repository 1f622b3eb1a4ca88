package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class LibraryChecksTest {
    private static final String LIB = "/usr/lib/x86_64-linux-gnu/";

    @TempDir
    private Path root;

    @ParameterizedTest
    @CsvSource({"3.2.5, FAIL", "3.3.9, PASS", "3.4.5, PASS", "3.5.19, WARN", "4.0.0, WARN"})
    void nvshmemHasAWindow(String version, Status status) {
        FakeSystem system = FakeSystem.nvidia(root).remove(LIB + "libnvshmem_host.so.3.4.5");
        system.file(LIB + "libnvshmem_host.so." + version, "");
        Check check = system.check(DoctorCode.NVSHMEM_VERSION);
        assertThat(check.status()).isEqualTo(status);
        assertThat(check.detail()).contains(version);
    }

    @ParameterizedTest
    @CsvSource({
        "gfx942, 5.2.50203, FAIL",
        "gfx942, 5.7.50701, PASS",
        "gfx950, 5.7.50701, FAIL",
        "gfx950, 6.1.60100, WARN",
        "gfx950, 6.4.60403, PASS",
        "gfx90a, 6.4.60403, PASS",
        "gfx999, 6.4.60403, WARN",
    })
    void hiprtcMustKnowTheGpus(String architecture, String version, Status status) {
        FakeSystem system = FakeSystem.amd(root, architecture, NicFamily.IONIC);
        system.remove("/opt/rocm-6.4.3/lib/libhiprtc.so.6.4.60403");
        system.file("/opt/rocm/lib/libhiprtc.so." + version, "");
        Check check = system.check(DoctorCode.HIPRTC_VERSION);
        assertThat(check.status()).isEqualTo(status);
        assertThat(check.detail()).contains(architecture);
    }

    @Test
    void untilRocm5TheRuntimeIsTheCompiler() {
        FakeSystem system = FakeSystem.amd(root, "gfx942", NicFamily.IONIC);
        system.remove("/opt/rocm-6.4.3/lib/libhiprtc.so.6.4.60403");
        system.file("/opt/rocm/lib/libamdhip64.so.5.2.50203", "");
        assertThat(system.check(DoctorCode.HIPRTC_VERSION).status()).isEqualTo(Status.FAIL);
    }

    @ParameterizedTest
    @CsvSource({
        "11.8.89, PASS",
        "12.9.86, PASS",
        "13.0.48, PASS",
    })
    void nvrtcKnowsHopper(String version, Status status) {
        assertThat(withNvrtc(version).check(DoctorCode.NVRTC_VERSION).status()).isEqualTo(status);
    }

    private FakeSystem withNvrtc(String version) {
        return FakeSystem.nvidia(root).remove(LIB + "libnvrtc.so.12.9.86").file(LIB + "libnvrtc.so." + version, "");
    }

    @ParameterizedTest
    @CsvSource({
        "sm_100, 12.4, NO",
        "sm_100, 12.9, YES",
        "sm_100, 13.0, YES",
        "sm_70, 12.9, YES",
        "sm_70, 13.0, NO",
        "sm_200, 13.0, UNKNOWN",
        "gfx942, 13.0, UNKNOWN"
    })
    void nvrtcDropsOldAndGainsNewArchitectures(String architecture, String version, CompilerChecks.Answer answer) {
        assertThat(CompilerChecks.nvrtc(architecture, Version.parse(version))).isEqualTo(answer);
    }

    @Test
    void aRecordingWithoutLibrariesIsNotRunRatherThanWarnedOf() {
        FakeSystem system =
                FakeSystem.plain(root).gpu(0, GpuVendor.NVIDIA, "sm_90", "").nic(0, "mlx5_0", NicFamily.MLX5);
        assertThat(system.check(DoctorCode.NVRTC_VERSION).status()).isEqualTo(Status.NOT_RUN);
        assertThat(system.check(DoctorCode.VERBS_DRIVERS).status()).isEqualTo(Status.NOT_RUN);
    }

    @Test
    void kernelsCannotBeCompiledWithoutACompiler() {
        assertThat(FakeSystem.nvidia(root)
                        .remove(LIB + "libnvrtc.so.12.9.86")
                        .check(DoctorCode.NVRTC_VERSION)
                        .status())
                .isEqualTo(Status.WARN);
    }

    @ParameterizedTest
    @CsvSource({"1.24.44.0, WARN", "1.25.50.0, PASS"})
    void libmlx5BeforeRdmaCore50IsTooOld(String version, Status status) {
        FakeSystem system = FakeSystem.nvidia(root).remove(LIB + "libmlx5.so.1.25.50.0");
        system.file(LIB + "libmlx5.so." + version, "");
        assertThat(system.check(DoctorCode.MLX5_VERSION).status()).isEqualTo(status);
    }

    @Test
    void twoVersionsOfALibraryAreReportedWithTheirPaths() {
        FakeSystem system = FakeSystem.nvidia(root).file("/usr/local/cuda-13.0/lib64/libnccl.so.2.29.1", "");
        Check check = system.check(DoctorCode.TWO_VERSIONS);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail())
                .contains("libnccl.so", "2.27.3 (" + LIB + "libnccl.so.2.27.3)", "/usr/local/cuda-13.0/lib64/");
    }

    @Test
    void aPythonPackageBesideAnotherVersionOfTheSystemIsUsual() {
        String site = "/usr/local/lib/python3.12/dist-packages/";
        FakeSystem system = FakeSystem.nvidia(root)
                .file(site + "nvidia/nccl/lib/libnccl.so.2", "")
                .file(site + "nvidia_nccl_cu13-2.29.1.dist-info/METADATA", "");
        assertThat(system.input().found(KnownLibrary.NCCL)).hasSize(2);
        assertThat(system.check(DoctorCode.TWO_VERSIONS).status()).isEqualTo(Status.PASS);
    }

    @Test
    void linksToOneFileAreOneVersion() {
        FakeSystem system = FakeSystem.nvidia(root)
                .link(LIB + "libnccl.so", "libnccl.so.2")
                .link(LIB + "libnccl.so.2", "libnccl.so.2.27.3")
                .link("/lib", "usr/lib");
        assertThat(system.check(DoctorCode.TWO_VERSIONS).status()).isEqualTo(Status.PASS);
        assertThat(system.input().found(KnownLibrary.NCCL)).hasSize(1);
    }

    @Test
    void theVersionOfAPythonPackageIsInItsName() {
        String site = "/usr/local/lib/python3.12/dist-packages/";
        FakeSystem system = FakeSystem.plain(root)
                .file(site + "nvidia/nvshmem/lib/libnvshmem_host.so.3", "")
                .file(site + "nvidia_nvshmem_cu12-3.4.5.dist-info/METADATA", "");
        assertThat(system.input().libraries())
                .containsExactly(new FoundLibrary(
                        KnownLibrary.NVSHMEM, "3.4.5", site + "nvidia/nvshmem/lib/libnvshmem_host.so.3"));
    }

    @Test
    void theVersionOfRocmIsInAFile() {
        FakeSystem system = FakeSystem.plain(root)
                .file("/opt/rocm-6.4.3/lib/libhiprtc.so.6", "")
                .file("/opt/rocm-6.4.3/.info/version", "6.4.3-128");
        assertThat(system.input().libraries())
                .containsExactly(new FoundLibrary(KnownLibrary.HIPRTC, "6.4.3", "/opt/rocm-6.4.3/lib/libhiprtc.so.6"));
    }

    @Test
    void theLoadersPathIsSearchedToo() {
        FakeSystem system = FakeSystem.plain(root).file("/data/own/libnccl.so.2.19.3", "");
        system.environment.put("LD_LIBRARY_PATH", "/data/own:relative");
        assertThat(system.input().libraries()).extracting(FoundLibrary::version).containsExactly("2.19.3");
    }

    @Test
    void aNicWithoutItsDriverIsAWarning() {
        FakeSystem system = FakeSystem.nvidia(root);
        assertThat(system.check(DoctorCode.VERBS_DRIVERS).status()).isEqualTo(Status.PASS);
        system.nic(0, "bnxt_re0", NicFamily.BNXT);
        assertThat(system.check(DoctorCode.VERBS_DRIVERS).detail()).isEqualTo("not found: libbnxt_re for bnxt_re0");
        system.file(LIB + "libibverbs/libbnxt_re-rdmav34.so", "");
        assertThat(system.check(DoctorCode.VERBS_DRIVERS).status()).isEqualTo(Status.PASS);
    }
}
