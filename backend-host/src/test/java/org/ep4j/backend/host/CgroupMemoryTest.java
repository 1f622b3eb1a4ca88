package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits of control groups, read from files as the kernel writes them. */
@Tag("verify")
final class CgroupMemoryTest {
    private static final long MIB = 1 << 20;

    @TempDir
    Path folder;

    private Path process() throws IOException {
        return Files.createDirectories(folder.resolve("proc"));
    }

    private void write(String path, String text) throws IOException {
        Path file = folder.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private void mount(String root, String line) throws IOException {
        write(
                "proc/mountinfo",
                "24 29 0:22 / /proc rw,nosuid shared:12 - proc proc rw\n35 25 0:30 " + root + " "
                        + folder.resolve("cgroup") + " rw,nosuid shared:9 - " + line + "\n");
    }

    @Test
    void versionTwoTheTightestGroupAboveCounts() throws IOException {
        mount("/", "cgroup2 cgroup2 rw,nsdelegate");
        write("proc/cgroup", "0::/pod/container\n");
        write("cgroup/pod/memory.max", 100 * MIB + "\n");
        write("cgroup/pod/memory.current", 90 * MIB + "\n");
        write(
                "cgroup/pod/memory.stat",
                "anon 7\ninactive_file " + MIB + "\nactive_file " + 2 * MIB + "\nslab_reclaimable " + MIB
                        + "\nshmem 9\n");
        write("cgroup/pod/memory.swap.max", "0\n");
        write("cgroup/pod/memory.swap.current", "0\n");
        write("cgroup/pod/container/memory.max", "max\n");
        write("cgroup/pod/container/memory.current", 80 * MIB + "\n");
        CgroupMemory found = CgroupMemory.read(process(), 50 * MIB).orElseThrow();
        assertThat(found.free()).isEqualTo(14 * MIB);
        assertThat(found.folder()).isEqualTo(folder.resolve("cgroup/pod").toString());
        assertThat(found.group()).isEqualTo(Files.getAttribute(folder.resolve("cgroup/pod"), "unix:ino"));
    }

    @Test
    void versionTwoSwapCountsAsFarAsItIsAllowedAndFree() throws IOException {
        mount("/", "cgroup2 cgroup2 rw");
        write("proc/cgroup", "0::/\n");
        write("cgroup/memory.max", 100 * MIB + "\n");
        write("cgroup/memory.current", 90 * MIB + "\n");
        write("cgroup/memory.swap.max", "max\n");
        assertThat(CgroupMemory.read(process(), 50 * MIB).orElseThrow().free()).isEqualTo(60 * MIB);
        write("cgroup/memory.swap.max", 30 * MIB + "\n");
        write("cgroup/memory.swap.current", 10 * MIB + "\n");
        assertThat(CgroupMemory.read(process(), 50 * MIB).orElseThrow().free()).isEqualTo(30 * MIB);
        assertThat(CgroupMemory.read(process(), MIB).orElseThrow().free()).isEqualTo(11 * MIB);
    }

    /** In a container the group that is mounted is its own. */
    @Test
    void versionTwoAGroupThatIsMountedByItself() throws IOException {
        mount("/docker/abc", "cgroup2 cgroup2 rw");
        write("proc/cgroup", "0::/docker/abc\n");
        write("cgroup/memory.max", 64 * MIB + "\n");
        write("cgroup/memory.current", MIB + "\n");
        write("cgroup/memory.swap.max", "0\n");
        write("cgroup/memory.swap.current", "0\n");
        assertThat(CgroupMemory.read(process(), 0).orElseThrow().free()).isEqualTo(63 * MIB);
        write("proc/cgroup", "0::/../../elsewhere\n");
        assertThat(CgroupMemory.read(process(), 0).orElseThrow().free()).isEqualTo(63 * MIB);
    }

    @Test
    void versionOneCountsMemoryAndSwapTogether() throws IOException {
        mount("/", "cgroup cgroup rw,memory");
        write("proc/cgroup", "5:devices:/\n4:memory:/job\n0::/\n");
        write("cgroup/memory.limit_in_bytes", "9223372036854771712\n");
        write("cgroup/memory.usage_in_bytes", 500 * MIB + "\n");
        write("cgroup/job/memory.limit_in_bytes", 100 * MIB + "\n");
        write("cgroup/job/memory.usage_in_bytes", 90 * MIB + "\n");
        write("cgroup/job/memory.stat", "inactive_file 5\ntotal_inactive_file " + MIB + "\ntotal_active_file 0\n");
        assertThat(CgroupMemory.read(process(), 50 * MIB).orElseThrow().free()).isEqualTo(61 * MIB);
        write("cgroup/job/memory.memsw.limit_in_bytes", 100 * MIB + "\n");
        write("cgroup/job/memory.memsw.usage_in_bytes", 95 * MIB + "\n");
        assertThat(CgroupMemory.read(process(), 50 * MIB).orElseThrow().free()).isEqualTo(6 * MIB);
    }

    @Test
    void moreThanTheLimitInUseLeavesNothing() throws IOException {
        mount("/", "cgroup2 cgroup2 rw");
        write("proc/cgroup", "0::/\n");
        write("cgroup/memory.max", MIB + "\n");
        write("cgroup/memory.current", 2 * MIB + "\n");
        write("cgroup/memory.swap.max", "0\n");
        write("cgroup/memory.swap.current", "0\n");
        assertThat(CgroupMemory.read(process(), 0).orElseThrow().free()).isZero();
    }

    @Test
    void withoutALimitOrWithoutFilesNothingIsFound() throws IOException {
        assertThat(CgroupMemory.read(folder.resolve("nowhere"), 0)).isEqualTo(Optional.empty());
        mount("/", "cgroup2 cgroup2 rw");
        write("proc/cgroup", "0::/\n");
        write("cgroup/memory.max", "max\n");
        write("cgroup/memory.current", MIB + "\n");
        assertThat(CgroupMemory.read(process(), 0)).isEmpty();
    }
}
