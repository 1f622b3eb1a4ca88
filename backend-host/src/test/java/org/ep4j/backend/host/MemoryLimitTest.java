package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.AbstractListAssert;
import org.assertj.core.groups.Tuple;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits of control groups, read from copies of what kernels show. */
final class MemoryLimitTest {
    private static final String TWO =
            "41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    private static final String ONE = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
    private static final String OTHER = """
            30 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
            22 1 8:1 / / rw - ext4 /dev/sda1 rw
            """;

    @TempDir
    Path system;

    @TempDir(factory = ShmTempDirFactory.class)
    Path folder;

    private void file(String path, String text) throws IOException {
        Path file = system.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private void process(String cgroup, String mounts) throws IOException {
        file("proc/self/cgroup", cgroup);
        file("proc/self/mountinfo", mounts);
    }

    private Tuple limit(String file, long bytes, long room) {
        return Tuple.tuple(system.resolve(file).toString(), bytes, room);
    }

    private AbstractListAssert<?, ?, Tuple, ?> limits(long swap) {
        return assertThat(MemoryLimit.all(system, swap))
                .extracting(MemoryLimit::file, MemoryLimit::bytes, MemoryLimit::room);
    }

    @Test
    void everyGroupUpToTheRootLimits() throws IOException {
        process("0::/pod/container\n", OTHER + TWO);
        file("sys/fs/cgroup/pod/container/memory.max", "max\n");
        file("sys/fs/cgroup/pod/container/memory.high", "3000\n");
        file("sys/fs/cgroup/pod/container/memory.current", "1000\n");
        file("sys/fs/cgroup/pod/container/memory.swap.max", "0\n");
        file("sys/fs/cgroup/pod/memory.max", "5000\n");
        file("sys/fs/cgroup/pod/memory.current", "4500\n");
        file("sys/fs/cgroup/pod/memory.stat", "anon 1\nfile 900\nshmem 500\nactive_file 100\ninactive_file 300\n");
        file("sys/fs/cgroup/pod/memory.swap.max", "50\n");
        file("sys/fs/cgroup/pod/memory.swap.current", "20\n");
        limits(10_000)
                .containsExactly(
                        limit("sys/fs/cgroup/pod/container/memory.high", 3000, 2000),
                        limit("sys/fs/cgroup/pod/memory.max", 5000, 500 + 400 + 30));
        assertThat(MemoryLimit.all(system, 0)).extracting(MemoryLimit::group).doesNotHaveDuplicates();
    }

    @Test
    void limitsOfVersionOneCountSwapWithMemory() throws IOException {
        process("9:name=systemd:/x\n4:cpuset,memory:/docker/abc\n0::/\n", OTHER + ONE);
        file("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "8000\n");
        file("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "3000\n");
        file("sys/fs/cgroup/memory/docker/abc/memory.memsw.limit_in_bytes", "8500\n");
        file("sys/fs/cgroup/memory/docker/abc/memory.memsw.usage_in_bytes", "3200\n");
        file(
                "sys/fs/cgroup/memory/docker/abc/memory.stat",
                "active_file 5\ntotal_active_file 10\ntotal_inactive_file 20\n");
        file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        limits(10_000).containsExactly(limit("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", 8000, 5330));
        limits(100)
                .containsExactly(limit("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", 8000, 5000 + 30 + 100));
    }

    /** In a container without a namespace of groups the path is the host's, and the mount begins at the group itself. */
    @Test
    void theMountMayBeginAtTheGroup() throws IOException {
        process(
                "4:memory:/docker/abc/sub\n",
                "35 31 0:32 /docker/abc /sys/fs/cg\\040roup rw - cgroup cgroup rw,memory\n");
        file("sys/fs/cg roup/memory.limit_in_bytes", "100\n");
        file("sys/fs/cg roup/sub/memory.limit_in_bytes", "70\n");
        limits(0)
                .containsExactly(
                        limit("sys/fs/cg roup/sub/memory.limit_in_bytes", 70, 70),
                        limit("sys/fs/cg roup/memory.limit_in_bytes", 100, 100));
        process("4:memory:/elsewhere\n", "35 31 0:32 /docker/abc /sys/fs/cg\\040roup rw - cgroup cgroup rw,memory\n");
        limits(0).containsExactly(limit("sys/fs/cg roup/memory.limit_in_bytes", 100, 100));
    }

    @Test
    void aPathCannotLeaveTheMount() throws IOException {
        process("0::/../../secret\n", TWO);
        file("sys/fs/cgroup/memory.max", "900\n");
        file("sys/secret/memory.max", "1\n");
        file("secret/memory.max", "1\n");
        limits(0).containsExactly(limit("sys/fs/cgroup/memory.max", 900, 900));
    }

    @Test
    void whatIsNoNumberLimitsNothing() throws IOException {
        process("0::/a/b/c/d/e/f\n", TWO);
        file("sys/fs/cgroup/a/b/c/d/e/f/memory.max", "max\n");
        file("sys/fs/cgroup/a/b/c/d/e/memory.max", "18446744073709551615\n");
        file("sys/fs/cgroup/a/b/c/d/memory.max", "-1\n");
        file("sys/fs/cgroup/a/b/c/memory.max", "");
        file("sys/fs/cgroup/a/b/memory.max", "99999999999999999999999999999\n");
        file("sys/fs/cgroup/a/memory.max", "12 apples\n");
        Files.createDirectories(system.resolve("sys/fs/cgroup/memory.max"));
        limits(0).isEmpty();
        // More in use than the limit, which was lowered; numbers of the usage that are none.
        file("sys/fs/cgroup/a/memory.max", "1000\n");
        file("sys/fs/cgroup/a/memory.current", "4000\n");
        file("sys/fs/cgroup/a/b/memory.max", "1000\n");
        file("sys/fs/cgroup/a/b/memory.current", "none\n");
        file("sys/fs/cgroup/a/b/memory.stat", "inactive_file 999999999999999999\nactive_file 999999999999999999999\n");
        limits(0)
                .containsExactly(
                        limit("sys/fs/cgroup/a/b/memory.max", 1000, 1000 + 999_999_999_999_999_999L),
                        limit("sys/fs/cgroup/a/memory.max", 1000, 0));
    }

    @Test
    void missingOrOddFilesOfTheProcessLimitNothing() throws IOException {
        limits(0).isEmpty();
        process("", "");
        limits(0).isEmpty();
        process("0\n:::\n4:memory\n", "cgroup2\n - cgroup2 cgroup2 rw\n1 2 3 / - cgroup2\n" + TWO);
        limits(0).isEmpty();
        Files.write(system.resolve("proc/self/cgroup"), new byte[] {(byte) 0xff, (byte) 0xfe, 10});
        limits(0).isEmpty();
    }

    @Test
    void theRoomOfARankIsWhatItsGroupLeaves() throws IOException {
        process("0::/a\n", TWO);
        file("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:   1000000 kB\nSwapFree:          10 kB\n");
        file("sys/fs/cgroup/a/memory.max", "200000\n");
        file("sys/fs/cgroup/a/memory.current", "50000\n");
        ShmFolder shm = new ShmFolder(folder);
        Room room = Room.look(4096, shm, system);
        if (ShmFolder.inMemory(shm.kind())) {
            assertThat(room.memoryFree()).isEqualTo((1_000_000L + 10) << 10);
            assertThat(room.limits()).extracting(MemoryLimit::room).containsExactly(150_000L + (10 << 10));
            assertThat(room.free()).isLessThanOrEqualTo(160_240);
        } else {
            assertThat(room.limits()).isEmpty();
        }
    }
}
