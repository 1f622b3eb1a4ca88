package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.ep4j.topology.TopologyException;
import org.ep4j.topology.read.FileTree;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class RecordedTreeTest {
    @TempDir
    private Path folder;

    private interface Fill {
        void into(TarArchiveOutputStream tar) throws IOException;
    }

    private Path archive(Fill fill) throws IOException {
        Path file = folder.resolve("tree.tar.gz");
        try (OutputStream out = Files.newOutputStream(file);
                TarArchiveOutputStream tar = new TarArchiveOutputStream(new GZIPOutputStream(out))) {
            fill.into(tar);
        }
        return file;
    }

    private static void file(TarArchiveOutputStream tar, String name, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        entry.setSize(bytes.length);
        tar.putArchiveEntry(entry);
        tar.write(bytes);
        tar.closeArchiveEntry();
    }

    private static void link(TarArchiveOutputStream tar, String name, String target) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, TarConstants.LF_SYMLINK);
        entry.setLinkName(target);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    @Test
    void filesAndLinksAreThereWhileItIsOpenAndGoneAfterwards() throws IOException {
        Path archive = archive(tar -> {
            file(tar, "machine/sys/devices/pci0000:00/vendor", "0x15b3\n");
            link(tar, "machine/sys/class/one", "../devices/pci0000:00");
        });
        Path top;
        try (RecordedTree tree = RecordedTree.unpack(archive)) {
            top = tree.top();
            assertThat(FileTree.of(top).text("/sys/class/one/vendor")).contains("0x15b3");
        }
        assertThat(top).doesNotExist();
    }

    @Test
    void anEntryThatLiesOutsideIsRefused() throws IOException {
        Path archive = archive(tar -> file(tar, "a/../../escaped", "x"));
        assertThatThrownBy(() -> RecordedTree.unpack(archive))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("a/../../escaped")
                .hasMessageContaining("outside");
    }

    @Test
    void linksThatLeadOutAndAbsoluteOnesAreLeftOut() throws IOException {
        Path archive = archive(tar -> {
            file(tar, "sys/a", "1");
            link(tar, "sys/up", "../../..");
            link(tar, "sys/etc", "/etc");
        });
        try (RecordedTree tree = RecordedTree.unpack(archive)) {
            assertThat(tree.top().resolve("sys")).isDirectoryNotContaining("glob:**/{up,etc}");
        }
    }

    @Test
    void nothingIsWrittenThroughALink() throws IOException {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        Path archive = archive(tar -> {
            link(tar, "sys/door", outside.toString());
            file(tar, "sys/door/file", "x");
        });
        try (RecordedTree tree = RecordedTree.unpack(archive)) {
            assertThat(tree.top().resolve("sys/door/file")).isRegularFile();
        }
        assertThat(outside).isEmptyDirectory();
    }

    @Test
    void aFileThatIsNoArchiveIsRefusedWithItsName() throws IOException {
        Path file = Files.write(folder.resolve("bad.tar.gz"), new byte[] {0x1f, (byte) 0x8b, 8, 0, 1, 2, 3});
        assertThatThrownBy(() -> RecordedTree.unpack(file))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("bad.tar.gz");
    }
}
