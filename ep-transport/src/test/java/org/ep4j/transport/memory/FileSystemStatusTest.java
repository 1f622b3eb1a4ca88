package org.ep4j.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class FileSystemStatusTest {
    private static FileSystemStatus status(long... words) {
        return FileSystemStatus.of(words);
    }

    @Test
    void aFileSystemIsRecognisedByItsNumber() {
        FileSystemStatus tmpfs = status(0x01021994L, 4096, 100, 0, 25, 1000, 3);
        assertThat(tmpfs).isEqualTo(new FileSystemStatus("tmpfs", 25 * 4096, 3));
        assertThat(tmpfs.inMemory()).isTrue();
        assertThat(status(0x01021994L, 4096, 0, 0, 0, 0, 0))
                .as("without limits")
                .isEqualTo(new FileSystemStatus("tmpfs", Long.MAX_VALUE, Long.MAX_VALUE));
        assertThat(status(0xabcdL, 512, 1, 0, 1, 0, 0))
                .isEqualTo(new FileSystemStatus("file system 0xabcd", 512, Long.MAX_VALUE));
    }

    /** The kernel's own figures, as the JDK reads them. */
    @Test
    void theKernelSaysTheSameOfAFolderAsTheJdk(@TempDir Path folder) throws IOException {
        File file = folder.toFile();
        long before = file.getUsableSpace();
        long free = FileSystemStatus.of(folder).freeBytes();
        long after = file.getUsableSpace();
        // Others write to the same file system meanwhile.
        assertThat(free).isBetween(Math.min(before, after) - (1L << 30), Math.max(before, after) + (1L << 30));
    }
}
