package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.assertj.core.api.AbstractThrowableAssert;
import org.ep4j.topology.TopologyException;
import org.ep4j.topology.read.FileTree;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

    static void file(TarArchiveOutputStream tar, String name, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        entry.setSize(bytes.length);
        tar.putArchiveEntry(entry);
        tar.write(bytes);
        tar.closeArchiveEntry();
    }

    static void link(TarArchiveOutputStream tar, String name, String target) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, TarConstants.LF_SYMLINK);
        entry.setLinkName(target);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    @Test
    void filesAndLinksAreReadWithoutWritingAnything() throws IOException {
        Path archive = archive(tar -> {
            file(tar, "machine/sys/devices/pci0000:00/vendor", "0x15b3\n");
            link(tar, "machine/sys/class/one", "../devices/pci0000:00");
            link(tar, "machine/sys/class/loop", "loop");
        });
        FileTree tree = RecordedTree.read(archive);
        assertThat(tree.text("/machine/sys/class/one/vendor")).contains("0x15b3");
        assertThat(tree.real("/machine/sys/class/one")).contains("/machine/sys/devices/pci0000:00");
        assertThat(tree.link("/machine/sys/class/one")).contains("../devices/pci0000:00");
        assertThat(tree.list("/machine/sys/class")).containsExactly("loop", "one");
        assertThat(tree.real("/machine/sys/class/loop")).isEmpty();
        assertThat(tree.exists("/machine/sys/class/none")).isFalse();
    }

    @Test
    void anEntryThatLiesOutsideIsRefused() throws IOException {
        Path archive = archive(tar -> file(tar, "a/../../escaped", "x"));
        refused(archive, "a/../../escaped", "outside");
    }

    @Test
    void linksThatLeadOutAndAbsoluteOnesLeadNowhere() throws IOException {
        Path archive = archive(tar -> {
            file(tar, "sys/a", "1");
            link(tar, "sys/up", "../../..");
            link(tar, "sys/etc", "/etc");
        });
        FileTree tree = RecordedTree.read(archive);
        assertThat(tree.real("/sys/up")).isEmpty();
        assertThat(tree.text("/sys/etc/hostname")).isEmpty();
        assertThat(tree.text("/sys/../../a")).isEmpty();
    }

    @Test
    void aFileBelowALinkIsInTheTreeAndNotWhereTheLinkLeads() throws IOException {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        Path archive = archive(tar -> {
            link(tar, "sys/door", outside.toString());
            file(tar, "sys/door/file", "x");
        });
        assertThat(RecordedTree.read(archive).text("/sys/door/file")).contains("x");
        assertThat(outside).isEmptyDirectory();
    }

    /** Each link by itself stays inside; one after the other they lead to the root of the file system. */
    @Test
    void aChainOfLinksMakesNoFolderOutside() throws IOException {
        String name = "ep4j-chain-" + ProcessHandle.current().pid();
        Path made = Path.of(System.getProperty("java.io.tmpdir"))
                .getRoot()
                .resolve("tmp")
                .resolve(name);
        Path archive = archive(tar -> {
            file(tar, "sys/a/b/c/file", "1");
            link(tar, "sys/a/b/c/p", "../../../..");
            link(tar, "q", "sys/a/b/c/p/../..");
            link(tar, "q/tmp/" + name + "/y", "z");
        });
        FileTree tree = RecordedTree.read(archive);
        assertThat(made).doesNotExist();
        assertThat(tree.text("/sys/a/b/c/file")).contains("1");
        assertThat(tree.real("/sys/a/b/c/p")).contains("/");
    }

    @Test
    void aFileThatIsNoArchiveIsRefusedWithItsName() throws IOException {
        Path file = Files.write(folder.resolve("bad.tar.gz"), new byte[] {0x1f, (byte) 0x8b, 8, 0, 1, 2, 3});
        refused(file, "cannot be unpacked");
    }

    @Test
    void aSparseFileIsRefusedBeforeItIsExpanded() throws IOException {
        byte[] header = header("sys/x", 512, 'S');
        octal(header, 386, 12, 0);
        octal(header, 398, 12, 512);
        octal(header, 483, 12, 3L << 30);
        refused(raw(header, 512), "sparse", "sys/x");
    }

    @Test
    void aNameOfGigabytesIsRefusedBeforeItIsKept() throws IOException {
        refused(raw(header("././@LongLink", 3L << 30, 'L'), 64 << 20), "long name", "65536");
    }

    @Test
    void anExtendedHeaderOfGigabytesIsRefusedBeforeItIsKept() throws IOException {
        refused(raw(header("pax", 1_500_000_000, 'x'), 64 << 20), "cannot be unpacked|65536");
    }

    @Test
    void whatUnpacksToMoreThanIsReadIsRefused() throws IOException {
        refused(raw(header("sys/x", 2L << 30, '0'), 520 << 20), "unpacks to more than", "536870912");
    }

    @Test
    void moreNamesThanAreKeptAreRefused() throws IOException {
        Path archive = folder.resolve("many.tar.gz");
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(archive), 1 << 16)) {
            for (int i = 0; i < 200_000; i++) {
                out.write(header("sys/" + i, 0, '0'));
            }
        }
        refused(archive, "more than 33554432 bytes");
    }

    private static void refused(Path archive, String... words) {
        AbstractThrowableAssert<?, ? extends Throwable> failure = assertThatThrownBy(() -> RecordedTree.read(archive))
                .isInstanceOf(TopologyException.class)
                .hasMessageStartingWith(archive + ": ")
                .hasMessageContaining("tar -czf");
        for (String word : words) {
            failure.hasMessageMatching("(?s).*(?:" + word + ").*");
        }
    }

    /** An archive of one header and so many bytes behind it. */
    private Path raw(byte[] header, int bytes) throws IOException {
        Path file = folder.resolve("raw.tar.gz");
        byte[] some = new byte[1 << 16];
        Arrays.fill(some, (byte) 'a');
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file), 1 << 16)) {
            out.write(header);
            for (int written = 0; written < bytes; written += some.length) {
                out.write(some, 0, Math.min(some.length, bytes - written));
            }
        }
        return file;
    }

    private static byte[] header(String name, long size, char type) {
        byte[] header = new byte[512];
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        System.arraycopy(bytes, 0, header, 0, bytes.length);
        octal(header, 100, 8, 0644);
        octal(header, 124, 12, size);
        octal(header, 136, 12, 0);
        header[156] = (byte) type;
        byte[] magic = "ustar  ".getBytes(StandardCharsets.UTF_8);
        System.arraycopy(magic, 0, header, 257, magic.length);
        return header;
    }

    /** A number, and with it the new sum of the header. */
    private static void octal(byte[] header, int at, int length, long value) {
        byte[] digits = Long.toOctalString(value).getBytes(StandardCharsets.UTF_8);
        Arrays.fill(header, at, at + length, (byte) 0);
        System.arraycopy(digits, 0, header, at, digits.length);
    }
}
