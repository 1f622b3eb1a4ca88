package org.ep4j.cli.topo;

import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.ep4j.topology.model.Printable;
import org.ep4j.topology.model.TopologyException;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Limits;

/**
 * Reads a {@code .tar.gz} of files of {@code /sys} and {@code /proc} into memory; nothing is written to disk. Devices, pipes and
 * sockets are left out. {@link Limits} bound what is read and what is kept.
 */
final class ArchiveReader {
    private static final int BUFFER = 64 << 10;

    /** Bytes of memory of a name besides its characters. */
    private static final int NODE = 64;

    /** Characters of messages of the library. */
    private static final int MESSAGE = 200;

    private final String archive;
    private final ArchiveTree tree = new ArchiveTree();
    private final byte[] rest = new byte[BUFFER];
    private int entries;
    private long kept;

    private ArchiveReader(String archive) {
        this.archive = archive;
    }

    /**
     * Reads an archive.
     *
     * @throws TopologyException when it is none, is damaged, has an odd entry, or is beyond a limit
     */
    static FileTree read(Path archive) {
        try (InputStream file = new BufferedInputStream(Files.newInputStream(archive))) {
            return read(archive.toString(), file);
        } catch (IOException e) {
            throw new TopologyException("cannot read " + archive + ": " + e + "; name a file that can be read", e);
        }
    }

    /** Reads an archive as {@link #read(Path)} does, from bytes that are read to their end or to a fault. */
    static FileTree read(String archive, InputStream file) {
        ArchiveReader reader = new ArchiveReader(archive);
        try (BoundedStream unpacked = new BoundedStream(reader.archive, new GZIPInputStream(file, BUFFER));
                TarArchiveInputStream tar = new TarArchiveInputStream(unpacked, StandardCharsets.UTF_8.name())) {
            reader.read(unpacked, tar);
        } catch (TopologyException e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            // The library lets failures of its own inside out on some damaged archives.
            throw new TopologyException(
                    archive + " cannot be read as a .tar.gz: " + Printable.line(String.valueOf(e.getMessage()), MESSAGE)
                            + "; it is damaged, or is not a .tar.gz",
                    e);
        }
        return reader.tree;
    }

    private void read(BoundedStream unpacked, TarArchiveInputStream tar) throws IOException {
        while (true) {
            unpacked.beginHeader();
            TarArchiveEntry entry = tar.getNextEntry();
            unpacked.beginContent();
            if (entry == null) {
                return;
            }
            checkRecords(entry);
            List<String> names = names(entry);
            if (!names.isEmpty()) {
                add(tar, entry, names);
            }
            while (tar.read(rest) > 0) {
                // What is not kept is passed over here, where the whole stream is bounded and not the header.
            }
        }
    }

    /** Global records of PAX add up from entry to entry, and every entry has them all. */
    private void checkRecords(TarArchiveEntry entry) {
        long characters = entry.getExtraPaxHeaders().entrySet().stream()
                .mapToLong(
                        record -> record.getKey().length() + record.getValue().length())
                .sum();
        if (characters > Limits.RECORDS) {
            throw wrong(
                    entry.getName(),
                    "with PAX records of " + characters + " characters; at most " + Limits.RECORDS
                            + " are read; pack the files again");
        }
    }

    private List<String> names(TarArchiveEntry entry) {
        String path = entry.getName();
        if (path.length() > Limits.PATH) {
            throw wrong(path, "whose name has " + path.length() + " characters; at most " + Limits.PATH + " are read");
        }
        List<String> names = ArchiveTree.components(path);
        if (names.contains("..")) {
            throw wrong(path, "whose name may point outside of the archive; pack the files again without \"..\"");
        }
        if (names.size() > Limits.FOLDERS || names.stream().anyMatch(name -> name.length() > Limits.NAME)) {
            throw wrong(
                    path,
                    "with more than " + Limits.FOLDERS + " nested folders or a name of more than " + Limits.NAME
                            + " characters; pack only files of /sys and /proc");
        }
        return names;
    }

    private void add(TarArchiveInputStream tar, TarArchiveEntry entry, List<String> names) throws IOException {
        if (entry.isDirectory()) {
            folders(entry, names);
        } else if (entry.isSymbolicLink()) {
            String target = entry.getLinkName();
            if (target.length() > Limits.PATH) {
                throw wrong(
                        entry.getName(),
                        "which links to a path of " + target.length() + " characters; at most " + Limits.PATH
                                + " are read");
            }
            put(entry, names, new ArchiveTree.Link(target), target.length());
        } else if (entry.isLink()) {
            ArchiveTree.Content same = tree.file(ArchiveTree.components(entry.getLinkName()))
                    .orElseThrow(() -> wrong(
                            entry.getName(),
                            "which is a hard link to " + Printable.quote(entry.getLinkName())
                                    + ", but no file of this name comes earlier in the archive; pack the files again"));
            put(entry, names, same, 0);
        } else if (entry.isSparse()) {
            // Files of /sys have no blocks, and tar --sparse takes them for holes: their content is lost.
            throw wrong(
                    entry.getName(),
                    "which is a sparse file of " + entry.getRealSize()
                            + " bytes; pack the files again without --sparse (-S)");
        } else if (entry.isFile() && !entry.isFIFO() && !entry.isCharacterDevice() && !entry.isBlockDevice()) {
            byte[] content = tar.readNBytes((int) Math.min(entry.getSize(), Limits.FILE));
            if (!names.get(names.size() - 1).equals("config")) {
                content = withoutPadding(content);
            }
            put(entry, names, new ArchiveTree.Content(content), content.length);
        }
    }

    /** Removes the zeros that tar appends: files of {@code /sys} claim to have 4,096 bytes. */
    private static byte[] withoutPadding(byte[] content) {
        int length = content.length;
        while (length > 0 && content[length - 1] == 0) {
            length--;
        }
        return length == content.length ? content : Arrays.copyOf(content, length);
    }

    private void put(TarArchiveEntry entry, List<String> names, ArchiveTree.Node node, int size) {
        folders(entry, names.subList(0, names.size() - 1));
        keep(1, names.get(names.size() - 1).length() + size);
        tree.put(names, node);
    }

    private void folders(TarArchiveEntry entry, List<String> names) {
        int made = tree.folders(names);
        if (made < 0) {
            throw wrong(entry.getName(), "whose path leads through a file of the same archive; pack the files again");
        }
        keep(
                made,
                names.stream()
                        .skip(names.size() - made)
                        .mapToInt(String::length)
                        .sum());
    }

    private void keep(int more, int characters) {
        entries += more;
        kept += (long) more * NODE + characters;
        if (entries > Limits.ENTRIES || kept > Limits.KEPT) {
            throw new TopologyException(archive + " holds more than " + Limits.ENTRIES + " entries or " + Limits.KEPT
                    + " bytes of names and contents; pack only files of /sys and /proc, as docs/reference/doctor.md"
                    + " shows");
        }
    }

    private TopologyException wrong(String entry, String what) {
        return new TopologyException(archive + " has an entry " + Printable.quote(entry) + ", " + what);
    }

    /** Content of an archive, unpacked. Reading past a limit fails, so that a reader takes no more memory than that. */
    private static final class BoundedStream extends FilterInputStream {
        private final String archive;
        private long left = Limits.UNPACKED;
        private long header = Long.MAX_VALUE;

        BoundedStream(String archive, InputStream in) {
            super(in);
            this.archive = archive;
        }

        /** Limits what is read next to the size of the header of an entry. */
        void beginHeader() {
            header = Limits.HEADER;
        }

        /** Ends the limit of a header: the content of an entry is read next. */
        void beginContent() {
            header = Long.MAX_VALUE;
        }

        @Override
        public int read() throws IOException {
            int value = super.read();
            count(value < 0 ? 0 : 1);
            return value;
        }

        @Override
        public int read(byte[] buffer, int offset, int length) throws IOException {
            int count = super.read(buffer, offset, length);
            count(Math.max(0, count));
            return count;
        }

        @Override
        public long skip(long count) throws IOException {
            long skipped = super.skip(Math.min(count, left + 1));
            count(skipped);
            return skipped;
        }

        private void count(long bytes) {
            left -= bytes;
            header -= bytes;
            if (left < 0) {
                throw new TopologyException(archive + " unpacks to more than " + Limits.UNPACKED
                        + " bytes; pack only files of /sys and /proc, as docs/reference/doctor.md shows");
            }
            if (header < 0) {
                throw new TopologyException(
                        archive + " has an entry whose header, name and PAX records together have more than "
                                + Limits.HEADER + " bytes; pack the files again");
            }
        }
    }
}
