package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.transport.memory.FileSystemStatus;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class ProbeTest {
    private static Check check(ProbeReport report, String code) {
        return report.checks().stream()
                .filter(c -> c.code().equals(code))
                .findFirst()
                .orElseThrow();
    }

    static ProbeReport probe(String folder) {
        return TestRanks.probe(
                EpConfig.builder(Map.of(), Map.of()).set("ep.shm.dir", folder).build());
    }

    /** The canary: on the machines that run these tests the backend works, so no other test may be skipped for it. */
    @Test
    void thisMachineIsUsable() {
        ProbeReport report = probe("");
        assertThat(report.failures()).isEmpty();
        assertThat(report.facts()).containsOnlyKeys("folder", "summary");
        assertThat(report.identity()).containsOnlyKeys("boot", "folder-id", "uid");
    }

    @Test
    void everyCheckIsMadeOnceAndInOrder() {
        assertThat(probe("").checks())
                .extracting(Check::code)
                .containsExactly(
                        "EP-SHM-001",
                        "EP-SHM-002",
                        "EP-SHM-003",
                        "EP-SHM-004",
                        "EP-SHM-005",
                        "EP-SHM-006",
                        "EP-SHM-007");
        assertThat(probe("/nowhere").checks()).hasSize(7);
    }

    @Test
    void aGpuIsNotForThisBackend() {
        ProbeReport report =
                new HostShmProvider().probe(ProbeRequest.of(Device.cuda(1), EpConfig.load(), TestRanks.DEADLINE));
        assertThat(report.usable()).isFalse();
        Check check = check(report, "EP-SHM-001");
        assertThat(check.detail()).contains("cuda:1");
        assertThat(check.remedy()).contains("host", "cuda");
    }

    @Test
    void anotherOperatingSystemIsRefusedAndNothingElseChecked() {
        ProbeReport report =
                ShmProbe.probe(ProbeRequest.of(Device.HOST, EpConfig.load(), TestRanks.DEADLINE), "Mac OS X", "64");
        assertThat(report.failures()).extracting(Check::code).containsExactly("EP-SHM-002");
        assertThat(report.checks().subList(2, 7))
                .allSatisfy(c -> assertThat(c.status()).isEqualTo(Check.Status.NOT_RUN));
    }

    @Test
    void a32BitProcessIsRefused() {
        ProbeReport report =
                ShmProbe.probe(ProbeRequest.of(Device.HOST, EpConfig.load(), TestRanks.DEADLINE), "Linux", "32");
        assertThat(report.failures()).extracting(Check::code).containsExactly("EP-SHM-002");
    }

    @Test
    void aMissingFolderFailsWithItsName() {
        Check check = check(probe("/no/such/folder"), "EP-SHM-005");
        assertThat(check.status()).isEqualTo(Check.Status.FAIL);
        assertThat(check.detail()).contains("/no/such/folder", "does not exist");
        assertThat(check.remedy()).contains("ep.shm.dir");
    }

    @Test
    void aFileInsteadOfAFolderFails(@TempDir Path folder) throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        assertThat(check(probe(file.toString()), "EP-SHM-005").detail()).contains("is not a folder");
    }

    @Test
    void aFolderThatNobodyMayWriteFails() {
        Check check = check(probe("/proc/self"), "EP-SHM-005");
        assertThat(check.status()).isEqualTo(Check.Status.FAIL);
        assertThat(check.detail()).contains("not writable");
    }

    @Test
    void aPathThatIsNoneFailsAndNamesTheSetting() {
        Check check = check(probe("nul\0character"), "EP-SHM-005");
        assertThat(check.status()).isEqualTo(Check.Status.FAIL);
        assertThat(check.detail()).contains("ep.shm.dir");
    }

    @Test
    void aFolderOnADiskIsAWarning(@TempDir Path folder) throws IOException {
        FileSystemStatus status = new ShmFolder(folder).fileSystem();
        Check check = check(probe(folder.toString()), "EP-SHM-006");
        assertThat(check.status()).isEqualTo(status.inMemory() ? Check.Status.PASS : Check.Status.WARN);
        assertThat(check.detail()).contains(status.kind());
    }

    @Test
    void aFolderWithoutInodesCannotBeUsed() {
        ShmFolder folder = new ShmFolder(Path.of("/dev/shm"));
        Check full = ShmProbe.room(folder, new FileSystemStatus("tmpfs", 1L << 40, 0));
        assertThat(full.status()).isEqualTo(Check.Status.FAIL);
        assertThat(full.detail()).contains("/dev/shm", "no further file");
        assertThat(full.remedy()).contains("nr_inodes");
        Check few = ShmProbe.room(folder, new FileSystemStatus("tmpfs", 1L << 40, 5));
        assertThat(few.status()).isEqualTo(Check.Status.WARN);
        assertThat(few.detail()).contains("5 further files");
        assertThat(ShmProbe.room(folder, new FileSystemStatus("tmpfs", ShmProbe.LITTLE, ShmProbe.FEW_FILES))
                        .status())
                .isEqualTo(Check.Status.PASS);
    }

    @Test
    void twoFoldersHaveTwoIdentitiesAndTwoPathsToOneFolderHaveOne(
            @TempDir(factory = ShmTempDirFactory.class) Path folder) throws IOException {
        Path a = Files.createDirectory(folder.resolve("a"));
        Path b = Files.createDirectory(folder.resolve("b"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), a);
        String identity = probe(a.toString()).identity().get("folder-id");
        assertThat(probe(b.toString()).identity().get("folder-id")).isNotEqualTo(identity);
        assertThat(probe(link.toString()).identity().get("folder-id")).isEqualTo(identity);
    }

    @Test
    void itLeavesNoFile(@TempDir(factory = ShmTempDirFactory.class) Path folder) {
        assertThat(probe(folder.toString()).usable()).isTrue();
        assertThat(TestRanks.files(folder)).isEmpty();
    }

    @Test
    void theFactsAreTheSameEveryTime() {
        assertThat(probe("").facts()).isEqualTo(probe("").facts());
        assertThat(probe("").identity()).isEqualTo(probe("").identity());
    }
}
