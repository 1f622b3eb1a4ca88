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
import org.assertj.core.api.AbstractThrowableAssert;
import org.ep4j.topology.model.TopologyException;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Limits;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class ArchiveReaderTest {
    @TempDir
    private Path folder;

    private interface Fill {
        void into(TarArchiveOutputStream tar) throws IOException;
    }

    private Path archive(Fill fill) throws IOException {
        Path file = folder.resolve("tree.tar.gz");
        try (OutputStream out = Files.newOutputStream(file);
                TarArchiveOutputStream tar = new TarArchiveOutputStream(new GZIPOutputStream(out))) {
            tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_GNU);
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
        link(tar, TarConstants.LF_SYMLINK, name, target);
    }

    private static void link(TarArchiveOutputStream tar, byte kind, String name, String target) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, kind);
        entry.setLinkName(target);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    @Test
    void filesAreReadAndLinksAreFollowed() throws IOException {
        FileTree tree = ArchiveReader.read(archive(tar -> {
            file(tar, "./sys/devices/pci0000:00/vendor", " 0x15b3\n");
            file(tar, "/sys/devices/pci0000:00/class", "0x020000");
            link(tar, "sys/class/one", "../devices/pci0000:00");
            link(tar, "sys/class/two", "one");
            link(tar, "sys/class/dangling", "../nowhere/driver_x");
        }));
        assertThat(tree.text("/sys/class/two/vendor")).contains("0x15b3");
        assertThat(tree.bytes("/sys/class/one/../../devices/pci0000:00/vendor"))
                .hasValueSatisfying(bytes -> assertThat(bytes).hasSize(8));
        assertThat(tree.bytes("/sys/class/one/../pci0000:00/vendor")).isPresent();
        assertThat(tree.list("/sys/class/two/")).containsExactly("class", "vendor");
        assertThat(tree.real("/sys/class/two/.")).contains("/sys/devices/pci0000:00");
        assertThat(tree.real("/")).contains("/");
        assertThat(tree.link("/sys/class/one")).contains("../devices/pci0000:00");
        assertThat(tree.link("/sys/class/dangling")).contains("../nowhere/driver_x");
        assertThat(tree.link("/sys/devices")).isEmpty();
        assertThat(tree.text("/sys/class/dangling")).isEmpty();
        assertThat(tree.text("/sys/class")).isEmpty();
        assertThat(tree.text("/sys/devices/pci0000:00/vendor/..")).isEmpty();
    }

    /** Files of /sys say that they have 4,096 bytes; tar fills what they lack with zeros. */
    @Test
    void paddingOfTarIsNoContent() throws IOException {
        FileTree tree = ArchiveReader.read(archive(tar -> {
            file(tar, "sys/vendor", "0x15b3\n" + "\0".repeat(4089));
            file(tar, "sys/config", "\1\0\0\0");
        }));
        assertThat(tree.text("/sys/vendor")).contains("0x15b3");
        assertThat(tree.bytes("/sys/vendor").orElseThrow()).hasSize(7);
        assertThat(tree.bytes("/sys/config").orElseThrow()).hasSize(4);
    }

    /** Records for the whole archive add up, though each header is short. */
    @Test
    void recordsForAllEntriesHaveALimitTogether() {
        String value = "v".repeat(100_000);
        refused(tar -> {
                    for (int i = 0; i < 10; i++) {
                        TarArchiveEntry global = new TarArchiveEntry("g", TarConstants.LF_PAX_GLOBAL_EXTENDED_HEADER);
                        global.addPaxHeader("k" + i, value);
                        tar.putArchiveEntry(global);
                        file(tar, "sys/f" + i, "");
                    }
                })
                .hasMessageContaining("with PAX records of")
                .hasMessageContaining("at most " + Limits.RECORDS);
    }

    @Test
    void linksThatLeadOutAreMissing() throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "7");
        FileTree tree = ArchiveReader.read(archive(tar -> {
            file(tar, "sys/a", "1");
            link(tar, "sys/up", "../.." + secret);
            link(tar, "sys/absolute", secret.toString());
            link(tar, "sys/inside", "../sys/a");
        }));
        assertThat(tree.text("/sys/up")).isEmpty();
        assertThat(tree.text("/sys/absolute")).isEmpty();
        assertThat(tree.text("/../sys/a")).isEmpty();
        assertThat(tree.text("/sys/inside")).contains("1");
    }

    @Test
    void asManyLinksAreFollowedAsLinuxDoes() throws IOException {
        FileTree tree = ArchiveReader.read(archive(tar -> {
            file(tar, "0", "end");
            for (int i = 1; i <= Limits.LINKS + 1; i++) {
                link(tar, "" + i, "" + (i - 1));
            }
            link(tar, "loop", "loop/loop");
        }));
        assertThat(tree.text("/" + Limits.LINKS)).contains("end");
        assertThat(tree.text("/" + (Limits.LINKS + 1))).isEmpty();
        assertThat(tree.exists("/loop")).isFalse();
    }

    @Test
    void aChainOfLinksMakesNoFolderOutside() throws IOException {
        Path archive = archive(tar -> {
            link(tar, "sys/a/b/c/p", "../../../..");
            link(tar, "q", "sys/a/b/c/p/../..");
            link(tar, "q" + folder + "/made/y", "x");
        });
        FileTree tree = ArchiveReader.read(archive);
        assertThat(tree.link("/q" + folder + "/made/y")).contains("x");
        assertThat(folder).isDirectoryNotContaining("glob:**/made");
    }

    @Test
    void nothingIsWrittenThroughALink() throws IOException {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        FileTree tree = ArchiveReader.read(archive(tar -> {
            link(tar, "sys/door", outside.toString());
            file(tar, "sys/door/file", "x");
            link(tar, "sys/door", outside.toString());
        }));
        assertThat(tree.text("/sys/door/file")).contains("x");
        assertThat(outside).isEmptyDirectory();
    }

    @Test
    void hardLinksAreTheFilesThatComeBeforeThem() throws IOException {
        FileTree tree = ArchiveReader.read(archive(tar -> {
            file(tar, "sys/a", "1");
            link(tar, TarConstants.LF_LINK, "sys/b", "./sys/a");
        }));
        assertThat(tree.text("/sys/b")).contains("1");
        refused(tar -> link(tar, TarConstants.LF_LINK, "sys/b", "/etc/passwd"))
                .hasMessageContainingAll("\"sys/b\"", "hard link to \"/etc/passwd\"", "no file of this name");
    }

    @Test
    void namesThatMayLeadOutsideAreRefused() {
        refused(tar -> file(tar, "a/../../escaped", "x")).hasMessageContainingAll("\"a/../../escaped\"", "outside");
        refused(tar -> file(tar, "..", "x")).hasMessageContaining("outside");
    }

    @Test
    void aFileBelowAFileIsRefused() {
        refused(tar -> {
                    file(tar, "a", "x");
                    file(tar, "a/b", "x");
                })
                .hasMessageContainingAll("\"a/b\"", "leads through a file");
    }

    @Test
    void namesAndFoldersBeyondTheLimitsAreRefused() {
        refused(tar -> file(tar, "x".repeat(Limits.NAME + 1), "x")).hasMessageContaining("more than 255 characters");
        refused(tar -> file(tar, "x/".repeat(Limits.FOLDERS) + "x", "x")).hasMessageContaining("64 nested folders");
        refused(tar -> file(tar, "x/".repeat(Limits.PATH / 2) + "x", "x")).hasMessageContaining("at most 4096");
        refused(tar -> link(tar, "x", "y/".repeat(Limits.PATH / 2 + 1))).hasMessageContaining("at most 4096");
        refused(tar -> {
                    TarArchiveEntry name = new TarArchiveEntry("././@LongLink", TarConstants.LF_GNUTYPE_LONGNAME);
                    name.setSize(Limits.HEADER);
                    tar.putArchiveEntry(name);
                    tar.write(new byte[Limits.HEADER]);
                    tar.closeArchiveEntry();
                })
                .hasMessageContainingAll("header", "131072");
    }

    @Test
    void theFirstMebibyteOfAFileIsKept() throws IOException {
        FileTree tree = ArchiveReader.read(archive(tar -> {
            file(tar, "long", "x".repeat(3 << 20));
            file(tar, "next", "1");
        }));
        assertThat(tree.text("/long"))
                .hasValueSatisfying(text -> assertThat(text).hasSize(1 << 20));
        assertThat(tree.text("/next")).contains("1");
    }

    @Test
    void pipesAndDevicesAreLeftOut() throws IOException {
        FileTree tree = ArchiveReader.read(archive(tar -> {
            link(tar, TarConstants.LF_FIFO, "pipe", "");
            link(tar, TarConstants.LF_CHR, "device", "");
            file(tar, "sys/a", "1");
        }));
        assertThat(tree.list("/")).containsExactly("sys");
    }

    @Test
    void aFileThatIsNoArchiveIsRefusedWithItsName() throws IOException {
        Path file = Files.write(folder.resolve("bad.tar.gz"), new byte[] {0x1f, (byte) 0x8b, 8, 0, 1, 2, 3});
        assertThatThrownBy(() -> ArchiveReader.read(file))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("bad.tar.gz");
    }

    private AbstractThrowableAssert<?, ? extends Throwable> refused(Fill fill) {
        return assertThatThrownBy(() -> ArchiveReader.read(archive(fill)))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("tree.tar.gz");
    }
}
