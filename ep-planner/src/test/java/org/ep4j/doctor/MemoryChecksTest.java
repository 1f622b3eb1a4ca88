package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.NicPort;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class MemoryChecksTest {
    private static final String HUGE = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";

    @TempDir
    private Path root;

    @ParameterizedTest
    @CsvSource({"unlimited, PASS", "8388608, FAIL", "2147483648, PASS"})
    void lockedMemoryMustHoldTheBufferOfARank(String limit, Status status) {
        FakeSystem system = FakeSystem.nvidia(root).file("/proc/self/limits", FakeSystem.limits(limit));
        assertThat(system.check(DoctorCode.LOCKED_MEMORY).status()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({"MLX5, PASS", "SIW, FAIL"})
    void theCapabilityLiftsTheLimitButNotForIwarpInSoftware(NicFamily family, Status status) {
        FakeSystem system = FakeSystem.plain(root)
                .farNic("nic", family, FakeSystem.port(NicPort.State.ACTIVE, 100))
                .file("/proc/self/limits", FakeSystem.limits("8388608"))
                .file("/proc/self/status", "CapEff:\t000001ffffffffff");
        assertThat(system.check(DoctorCode.LOCKED_MEMORY).status()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({
        "'rw,size=65536k', WARN",
        "'rw,nosuid,size=64g,inode64', PASS",
        "'rw,size=50%', PASS",
        "'rw', PASS",
    })
    void sharedMemoryMustHoldTheBuffersOfAllRanks(String options, Status status) {
        FakeSystem system = FakeSystem.plain(root).file("/proc/mounts", "shm /dev/shm tmpfs " + options + " 0 0");
        assertThat(system.check(DoctorCode.SHARED_MEMORY).status()).isEqualTo(status);
    }

    /** What earlier jobs left there counts, which the size of the mount does not show. */
    @Test
    void onTheMachineItselfFreeSpaceDecides() {
        FakeSystem system = FakeSystem.plain(root).file("/proc/mounts", "shm /dev/shm tmpfs rw,size=16g 0 0");
        system.room = Optional.of(new DoctorInput.Room("/dev/shm", 16L << 30, 7L << 30, 25));
        assertThat(system.check(DoctorCode.SHARED_MEMORY).status()).isEqualTo(Status.WARN);
        assertThat(system.check(DoctorCode.SHARED_MEMORY).detail())
                .contains("7.0 GiB free of 16.0 GiB", "want 8.0 GiB");
        system.room = Optional.of(new DoctorInput.Room("/mnt/shm", 16L << 30, 8L << 30, 25));
        assertThat(system.check(DoctorCode.SHARED_MEMORY).status()).isEqualTo(Status.PASS);
        system.room = Optional.of(new DoctorInput.Room("/mnt/shm", 0, 0, Long.MAX_VALUE));
        assertThat(system.check(DoctorCode.SHARED_MEMORY).detail()).startsWith("/mnt/shm has no limit");
    }

    /** Three of each rank and one of all, however few bytes they have. */
    @ParameterizedTest
    @CsvSource({"0, WARN", "24, WARN", "25, PASS"})
    void onTheMachineItselfFreeFilesDecideToo(long files, Status status) {
        FakeSystem system = FakeSystem.plain(root);
        for (long bytes : List.of(0L, 1L << 40)) {
            system.room = Optional.of(new DoctorInput.Room("/dev/shm", bytes, bytes, files));
            Check check = system.check(DoctorCode.SHARED_MEMORY);
            assertThat(check.status()).isEqualTo(status);
            if (status == Status.WARN) {
                assertThat(check.detail())
                        .isEqualTo("/dev/shm can hold " + files + " further files (inodes), 8 ranks want 25");
            }
        }
    }

    @Test
    void withoutAMountThereIsNoSharedMemory() {
        assertThat(FakeSystem.plain(root)
                        .file("/proc/mounts", "proc /proc proc rw 0 0")
                        .check(DoctorCode.SHARED_MEMORY)
                        .status())
                .isEqualTo(Status.WARN);
        assertThat(FakeSystem.plain(root)
                        .remove("/proc/mounts")
                        .check(DoctorCode.SHARED_MEMORY)
                        .status())
                .isEqualTo(Status.NOT_RUN);
    }

    @ParameterizedTest
    @CsvSource({
        "MLX5, 0, always [madvise] never, PASS",
        "MLX5, 0, always madvise [never], WARN",
        "MLX5, 512, always madvise [never], PASS",
        "EFA, 0, [always] madvise never, WARN",
        "EFA, 512, [always] madvise never, PASS",
    })
    void hugePagesAreReservedOrMadeOnDemand(NicFamily family, String free, String enabled, Status status) {
        FakeSystem system = FakeSystem.plain(root)
                .farNic("nic", family, FakeSystem.port(NicPort.State.ACTIVE, 100))
                .file(HUGE, free)
                .file("/sys/kernel/mm/transparent_hugepage/enabled", enabled);
        assertThat(system.check(DoctorCode.HUGE_PAGES).status()).isEqualTo(status);
    }
}
