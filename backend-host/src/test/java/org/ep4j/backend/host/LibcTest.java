package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class LibcTest {
    private final Libc libc = Libc.load();

    @TempDir(factory = ShmTempDirFactory.class)
    Path folder;

    @Test
    void bindingTwiceIsFine() {
        assertThat(Libc.load().userId()).isEqualTo(libc.userId());
    }

    @Test
    void aNewFileIsForItsOwnerAlone() throws IOException {
        Path path = folder.resolve("file");
        libc.closeDescriptor(libc.create(path));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                .isEqualTo("rw-------");
        assertThat(FileId.status(path).owner()).isEqualTo(libc.userId());
    }

    @Test
    void aFileThatIsThereIsNotTakenOver() {
        Path path = folder.resolve("file");
        libc.closeDescriptor(libc.create(path));
        assertThatThrownBy(() -> libc.create(path))
                .isInstanceOfSatisfying(
                        Libc.CallException.class, e -> assertThat(e.error()).isEqualTo(Libc.EEXIST))
                .hasMessageContaining("open of " + path)
                .hasMessageContaining("EEXIST (17");
    }

    @Test
    void aNameBeyondAsciiReachesTheKernelAsTheJdkWritesIt() throws IOException {
        Path path;
        try {
            path = folder.resolve("k\u00f6nig");
        } catch (java.nio.file.InvalidPathException e) {
            // In the C locale no such path can be written, and so none can be asked for.
            assertThat(System.getProperty("sun.jnu.encoding")).isNotEqualTo("UTF-8");
            return;
        }
        libc.closeDescriptor(libc.create(path));
        assertThat(Files.exists(path)).isTrue();
    }

    @Test
    void aDescriptorSurvivesNoExec() throws IOException {
        int descriptor = libc.create(folder.resolve("file"));
        try {
            String flags = Files.readString(Path.of("/proc/self/fdinfo/" + descriptor));
            assertThat(flags).containsPattern("flags:\\s+0?2[0-9]*2");
            assertThat(Long.parseLong(flags.replaceAll("(?s).*flags:\\s+([0-7]+).*", "$1"), 8) & 02000000)
                    .isNotZero();
        } finally {
            libc.closeDescriptor(descriptor);
        }
    }

    @Test
    void aLockIsHeldOnceAndFreedByClosing() {
        Path path = folder.resolve("file");
        int first = libc.create(path);
        int second = libc.openExisting(path);
        assertThat(libc.tryLock(first, path)).isTrue();
        assertThat(libc.tryLock(second, path)).isFalse();
        libc.closeDescriptor(first);
        assertThat(libc.tryLock(second, path)).isTrue();
        libc.closeDescriptor(second);
    }

    @Test
    void spaceIsReallyTaken() throws IOException {
        Path path = folder.resolve("file");
        int descriptor = libc.create(path);
        try {
            assertThat(libc.allocate(descriptor, 0, 1 << 20, path)).isTrue();
            assertThat(Files.size(path)).isEqualTo(1 << 20);
        } finally {
            libc.closeDescriptor(descriptor);
        }
    }

    @Test
    void removingWhatIsGoneIsFine() {
        libc.remove(folder.resolve("nothing"));
        assertThatThrownBy(() -> libc.remove(folder)).isInstanceOf(Libc.CallException.class);
    }

    @Test
    void badArgumentsGiveTheKernelsNumber() {
        Path path = folder.resolve("file");
        assertThatThrownBy(() -> libc.map(-1, 4096, path)).hasMessageContaining("EBADF (9");
        assertThatThrownBy(() -> libc.allocate(-1, 0, 4096, path)).hasMessageContaining("EBADF (9");
        assertThatThrownBy(() -> libc.tryLock(-1, path)).hasMessageContaining("EBADF (9");
        assertThatThrownBy(() -> libc.unmap(1, 4096)).hasMessageContaining("EINVAL (22");
    }

    @Test
    void anUnusualErrorKeepsItsNumber() {
        assertThat(new Libc.CallException("open", "x", 131, "")).hasMessage("open of x failed with errno (131)");
        assertThat(new Libc.CallException("open", "x", Libc.ENOSPC, "No space left on device"))
                .hasMessage("open of x failed with ENOSPC (28, No space left on device)");
    }
}
