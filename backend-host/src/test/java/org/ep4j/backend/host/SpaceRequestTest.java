package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.jna.Pointer;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CyclicBarrier;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.EpTimeoutException;
import org.ep4j.plan.RecordCodec;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.Deadline;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Buffers beyond what there is, and beyond 2 GiB. */
@Tag("verify")
final class SpaceRequestTest {
    private static final System.Logger LOG = System.getLogger(SpaceRequestTest.class.getName());

    @TempDir(factory = ShmTempDirFactory.class)
    Path folder;

    private static long free(SpaceRequest room) {
        long group = room.group().map(CgroupMemory::free).orElse(Long.MAX_VALUE);
        return Math.min(group, Math.min(room.folderFree(), room.memoryFree()));
    }

    private static long pages(long bytes) {
        return bytes / 4096 * 4096;
    }

    @Test
    void moreThanTheFolderHasIsRefusedOnAllRanksAndNothingIsTaken() throws IOException {
        SpaceRequest room = SpaceRequest.measure(0, new ShmFolder(folder));
        long bytes = pages(free(room) + (1L << 30));
        var outcomes = TestRanks.run(2, folder, (rank, backend) -> TestRanks.expose(backend, "big", bytes));
        assertThat(outcomes)
                .allSatisfy(o -> assertThat(o.failure().orElseThrow())
                        .isInstanceOf(EpResourceException.class)
                        .hasMessageContaining("\"big\"")
                        .hasMessageContaining(folder.toString())
                        .hasMessageContaining("2 ranks need " + bytes + " bytes")
                        .hasMessageContaining(2 * bytes + " bytes"));
        assertThat(TestRanks.files(folder)).isEmpty();
        assertThat(TestRanks.mappedFrom(folder)).isZero();
    }

    @Test
    void whatFitsOneRankButNotAllIsRefused() throws IOException {
        SpaceRequest room = SpaceRequest.measure(0, new ShmFolder(folder));
        long bytes = pages(free(room) / 2 + (1L << 30));
        var outcomes = TestRanks.run(2, folder, (rank, backend) -> TestRanks.expose(backend, "big", bytes));
        assertThat(outcomes)
                .allSatisfy(o -> assertThat(o.failure().orElseThrow())
                        .isInstanceOf(EpResourceException.class)
                        .hasMessageContaining("2 ranks need"));
    }

    /** Where the figures said yes and the kernel says no. */
    @Test
    void theKernelsRefusalNamesFolderBytesFreeAndFix() throws IOException {
        ShmFolder shm = new ShmFolder(folder);
        skipUnless(
                shm.fileSystem().freeBytes() < 1L << 50,
                "a folder without a limit would take memory until there is none");
        Libc libc = Libc.load();
        // Beyond what any file system of this machine can hold, so refused before a page is taken.
        Path path = folder.resolve("ep4j-test");
        int descriptor = libc.create(path);
        try {
            assertThatThrownBy(() -> libc.allocate(descriptor, 0, 1L << 50, path))
                    .isInstanceOfSatisfying(
                            Libc.CallException.class,
                            e -> assertThat(ShmAllocation.translate(e, "big", 1L << 50, shm))
                                    .isInstanceOf(EpResourceException.class)
                                    .hasMessageContaining("ENOSPC (28")
                                    .hasMessageContaining((1L << 50) + " bytes")
                                    .hasMessageContaining(folder.toString())
                                    .hasMessageContaining(" free")
                                    .hasMessageContaining("--shm-size")
                                    .hasMessageContaining("ep.shm.dir"));
        } finally {
            libc.closeDescriptor(descriptor);
            libc.remove(path);
        }
    }

    @Test
    void aFileThatCannotBeMadeLeavesNothing() throws IOException {
        Libc libc = Libc.load();
        Deadline past = Deadline.in(Duration.ofNanos(-1));
        assertThatThrownBy(() -> SharedFile.create(libc, new ShmFolder(folder), 1 << 20, past))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContaining("1048576 bytes")
                .hasMessageContaining("ep.setup-timeout");
        assertThat(TestRanks.files(folder)).isEmpty();
        assertThat(TestRanks.descriptorsInto(folder)).isZero();
    }

    @Test
    void everyKindOfShortageIsAResourceFailureWithItsFix() {
        ShmFolder shm = new ShmFolder(folder);
        for (int number : new int[] {Libc.ENOSPC, Libc.EDQUOT, Libc.ENOMEM, Libc.EMFILE, Libc.ENFILE}) {
            assertThat(translated(number, shm))
                    .isInstanceOf(EpResourceException.class)
                    .hasMessageContaining("; ");
        }
        for (int number : new int[] {Libc.EACCES, Libc.EOPNOTSUPP, 5}) {
            assertThat(translated(number, shm)).isNotInstanceOf(EpResourceException.class);
        }
    }

    /** Bytes are free where a file cannot be made, and files where one cannot grow: the call that failed says which is short. */
    @Test
    void theRemedyIsMoreFilesWhereNoneCouldBeMadeAndMoreBytesWhereOneCouldNotGrow() {
        ShmFolder shm = new ShmFolder(folder);
        for (int number : new int[] {Libc.ENOSPC, Libc.EDQUOT}) {
            assertThat(translated("open", number, shm))
                    .isInstanceOf(EpResourceException.class)
                    .hasMessageEndingWith(
                            "can hold no further file (all its inodes are in use); remove the files that earlier jobs"
                                    + " left in the folder, or allow more inodes (as root: mount -o remount,nr_inodes=1m "
                                    + folder + ")");
            assertThat(translated("posix_fallocate", number, shm))
                    .isInstanceOf(EpResourceException.class)
                    .hasMessageContaining(" free; ")
                    .hasMessageContaining("--shm-size")
                    .hasMessageNotContaining("inodes");
        }
    }

    private static Throwable translated(int number, ShmFolder shm) {
        return translated("mmap", number, shm);
    }

    private static Throwable translated(String call, int number, ShmFolder shm) {
        return ShmAllocation.translate(new Libc.CallException(call, "x", number, ""), "b", 4096, shm);
    }

    private static SpaceRequest room(long folderFree, long memoryFree, Optional<CgroupMemory> group) {
        return new SpaceRequest(1 << 20, folderFree, memoryFree, group, "/f");
    }

    @Test
    void theLimitOfAControlGroupCountsForTheRanksInIt() {
        SpaceRequest room = room(1 << 30, 1 << 30, Optional.of(new CgroupMemory(2 << 20, 7, "/sys/fs/cgroup/pod")));
        assertThat(room.refusal("b", 8, 2)).isEmpty();
        assertThat(room.refusal("b", 8, 3).orElseThrow())
                .contains("3 ranks need 1048576 bytes", "3145728 bytes", "control group /sys/fs/cgroup/pod")
                .contains("allows only 2097152 bytes", "docker run --memory");
        assertThat(room.sharesGroup(room(1, 1, Optional.of(new CgroupMemory(1, 7, "/")))))
                .isTrue();
        assertThat(room.sharesGroup(room(1, 1, Optional.of(new CgroupMemory(1, 8, "/")))))
                .isFalse();
        assertThat(room.sharesGroup(room(1, 1, Optional.empty()))).isFalse();
    }

    @Test
    void namesTheFolderOrTheMemoryAsWhatIsShort() {
        assertThat(room(1 << 10, 1 << 30, Optional.empty()).refusal("b", 1, 1).orElseThrow())
                .contains("1 rank needs 1048576 bytes", "/f", "1024 bytes", "--shm-size");
        assertThat(room(1 << 30, 1 << 10, Optional.empty()).refusal("b", 3, 3).orElseThrow())
                .contains("3 ranks need", "3145728 bytes", "the machine has only 1024 bytes", "smaller buffer");
        assertThat(room(Long.MAX_VALUE, Long.MAX_VALUE, Optional.empty()).refusal("b", 3, 3))
                .isEmpty();
    }

    /** Has the bytes of an announcement, and any name. */
    private record Forged(String name, FileId id) {}

    @Test
    void aNameThatLeavesTheFolderIsRefused() {
        RecordCodec<Forged> forger = new RecordCodec<>(MethodHandles.lookup(), Forged.class, "a forged name", 1);
        for (String name : List.of("../etc", "ep4j-/../x", "other")) {
            byte[] bytes = forger.encode(new Forged(name, new FileId(1, 2)));
            assertThatThrownBy(() -> SharedFile.Announcement.CODEC.decode(bytes))
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("a rank sent the name of its shared memory")
                    .hasMessageContaining("expected a name beginning with ep4j-");
        }
        assertThatThrownBy(() -> SharedFile.Announcement.CODEC.decode(new byte[3]))
                .hasMessageContaining("3 bytes");
        assertThatThrownBy(() -> SpaceRequest.CODEC.decode(new byte[3])).hasMessageContaining("3 bytes");
    }

    @Test
    void buffersGoBeyondTwoGibibytes() {
        long bytes = (2L << 30) + (200L << 20);
        SpaceRequest room = SpaceRequest.measure(bytes, new ShmFolder(folder));
        long need = 2 * bytes + (3L << 30);
        skipUnless(
                free(room) >= need,
                "two ranks of " + bytes + " bytes want " + need + " bytes free, there are " + room.folderFree()
                        + " in the folder and " + room.memoryFree() + " of memory");
        CyclicBarrier step = new CyclicBarrier(2);
        TestRanks.runAll(2, folder, (rank, backend) -> {
            try (SymmetricBuffer buffer = TestRanks.expose(backend, "big", bytes)) {
                DeviceMemory peer = TestRanks.peers(buffer).peer(1 - rank);
                for (long at : new long[] {0, (1L << 31) - 8, 1L << 31, bytes - 8}) {
                    word(peer, at).putLong(0, at + rank);
                }
                TestRanks.await(step);
                for (long at : new long[] {0, (1L << 31) - 8, 1L << 31, bytes - 8}) {
                    assertThat(word(buffer.local(), at).getLong(0)).isEqualTo(at + 1 - rank);
                }
                TestRanks.await(step);
                return true;
            }
        });
        assertThat(TestRanks.files(folder)).isEmpty();
    }

    private static void skipUnless(boolean possible, String why) {
        if (!possible) {
            LOG.log(System.Logger.Level.WARNING, "skipped: " + why);
        }
        assumeTrue(possible, why);
    }

    private static ByteBuffer word(DeviceMemory memory, long offset) {
        return new Pointer(memory.address()).getByteBuffer(offset, 8);
    }
}
