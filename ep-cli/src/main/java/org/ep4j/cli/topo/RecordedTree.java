package org.ep4j.cli.topo;

import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.ep4j.topology.Printable;
import org.ep4j.topology.TopologyException;
import org.ep4j.topology.read.FileTree;

/**
 * The files of a {@code .tar.gz} with a recording of {@code /sys} and {@code /proc}, in memory: nothing is written to disk, so
 * there is no place that an archive could write to, and nothing that a failure could leave behind. Links are resolved inside
 * the tree; those that lead out of it, devices, pipes and hard links are missing. The size of the archive, of what lies in front of an
 * entry, and of all that is kept are limited while they are read.
 */
final class RecordedTree implements FileTree {
    /** What an archive may unpack to; all of it has to be read, though less is kept. */
    private static final long MOST_UNPACKED = 512L << 20;

    /** What is kept. The largest recording that we know of has 2 MiB by this count. */
    private static final long MOST_KEPT = 32L << 20;

    /** What a file, folder or link takes besides its name and content. */
    private static final int EACH = 200;

    /** No reader looks at more of a file. */
    private static final int MOST_OF_A_FILE = 1 << 20;

    /** Headers, long names and extended attributes in front of one entry. Linux takes paths of up to 4096 bytes. */
    private static final int MOST_HEADERS = 64 << 10;

    private static final int MOST_COMPONENTS = 64;

    /** Targets of links; longer ones lead nowhere on Linux. */
    private static final int MOST_LINK = 4096;

    /** Linux gives up after as many links on one way, too. */
    private static final int MOST_LINKS = 40;

    private final Path archive;
    private final Folder root = new Folder();
    private long kept;

    private RecordedTree(Path archive) {
        this.archive = archive;
    }

    private sealed interface Node permits Folder, Content, Link {}

    private static final class Folder implements Node {
        private final TreeMap<String, Node> entries = new TreeMap<>();

        Optional<Node> entry(String name) {
            return Optional.ofNullable(entries.get(name));
        }
    }

    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Content(byte[] bytes) implements Node {}

    private record Link(String target) implements Node {}

    private record Found(Node node, String path) {}

    /**
     * Reads an archive.
     *
     * @throws TopologyException when it is none, is damaged or too large, or has names that lie outside
     */
    static RecordedTree read(Path archive) {
        RecordedTree tree = new RecordedTree(archive);
        try (InputStream file = new BufferedInputStream(Files.newInputStream(archive));
                Metered unpacked = new Metered(archive, new GZIPInputStream(file));
                TarArchiveInputStream tar = new TarArchiveInputStream(unpacked)) {
            tree.fill(tar, unpacked);
            return tree;
        } catch (TopologyException e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            // The library reports some damage by exceptions of the language.
            throw new TopologyException(
                    archive + ": cannot be unpacked: " + Printable.of(String.valueOf(e.getMessage()))
                            + "; pack the recording again with tar -czf",
                    e);
        }
    }

    private void fill(TarArchiveInputStream tar, Metered unpacked) throws IOException {
        while (true) {
            unpacked.allow(
                    MOST_HEADERS,
                    "the headers in front of an entry, such as a long name, have more than " + MOST_HEADERS + " bytes");
            TarArchiveEntry entry = tar.getNextEntry();
            if (entry == null) {
                return;
            }
            unpacked.allow(MOST_UNPACKED, "an entry is larger than " + MOST_UNPACKED + " bytes");
            if (entry.isSparse()) {
                throw refused("has the sparse file \"" + entry.getName() + "\", whose size it only claims");
            }
            List<String> path = components(entry.getName());
            if (entry.isSymbolicLink() && entry.getLinkName().length() <= MOST_LINK) {
                put(path, new Link(entry.getLinkName()), entry.getLinkName().length());
            } else if (entry.isDirectory()) {
                folder(path);
            } else if (ordinary(entry)) {
                byte[] bytes = tar.readNBytes(MOST_OF_A_FILE);
                put(path, new Content(bytes), bytes.length);
            }
            // All of an entry is read here, so that what is read with the next one are headers.
            tar.transferTo(OutputStream.nullOutputStream());
        }
    }

    private static boolean ordinary(TarArchiveEntry entry) {
        return entry.isFile()
                && !entry.isLink()
                && !entry.isCharacterDevice()
                && !entry.isBlockDevice()
                && !entry.isFIFO();
    }

    /** Where an entry is in the tree. */
    private List<String> components(String name) {
        Deque<String> path = new ArrayDeque<>();
        for (String component : name.split("/", MOST_HEADERS)) {
            if (component.equals("..") && path.pollLast() == null) {
                throw refused("has an entry \"" + name + "\", which lies outside of it");
            }
            if (!component.isEmpty() && !component.equals(".") && !component.equals("..")) {
                path.addLast(component);
            }
        }
        if (path.size() > MOST_COMPONENTS) {
            throw refused("has an entry \"" + name + "\" in " + path.size() + " folders, at most " + MOST_COMPONENTS
                    + " are read");
        }
        return List.copyOf(path);
    }

    /** A folder with all above it. What else was in its place is gone, as files are never behind links. */
    private Folder folder(List<String> path) {
        Folder at = root;
        for (String name : path) {
            if (at.entry(name).orElse(null) instanceof Folder below) {
                at = below;
            } else {
                Folder made = new Folder();
                keep(name, 0);
                at.entries.put(name, made);
                at = made;
            }
        }
        return at;
    }

    /** A file or link. Folders stay folders, and links replace nothing. */
    private void put(List<String> path, Node node, int size) {
        if (path.isEmpty()) {
            return;
        }
        String name = path.get(path.size() - 1);
        Folder folder = folder(path.subList(0, path.size() - 1));
        Optional<Node> old = folder.entry(name);
        if (old.isEmpty() || (node instanceof Content && !(old.get() instanceof Folder))) {
            keep(name, size);
            folder.entries.put(name, node);
        }
    }

    private void keep(String name, int size) {
        kept += EACH + 2L * name.length() + size;
        if (kept > MOST_KEPT) {
            throw refused("has files, names and links of more than " + MOST_KEPT + " bytes, each counted with " + EACH
                    + " besides");
        }
    }

    private TopologyException refused(String reason) {
        return new TopologyException(archive + ": " + shortened(Printable.of(reason))
                + "; pack only the files of /sys and /proc that matter again, with tar -czf");
    }

    private static String shortened(String reason) {
        return reason.length() <= 300
                ? reason
                : reason.substring(0, 150) + "..." + reason.substring(reason.length() - 120);
    }

    @Override
    public Optional<String> text(String path) {
        return bytes(path).map(bytes -> new String(bytes, StandardCharsets.ISO_8859_1).strip());
    }

    @Override
    public Optional<byte[]> bytes(String path) {
        return find(path)
                .map(Found::node)
                .filter(Content.class::isInstance)
                .map(node -> ((Content) node).bytes().clone());
    }

    @Override
    public List<String> list(String path) {
        return find(path)
                .map(Found::node)
                .filter(Folder.class::isInstance)
                .map(node -> List.copyOf(((Folder) node).entries.keySet()))
                .orElse(List.of());
    }

    @Override
    public Optional<String> real(String path) {
        return find(path).map(Found::path);
    }

    @Override
    public Optional<String> link(String path) {
        int name = path.lastIndexOf('/');
        return find(path.substring(0, Math.max(0, name)))
                .map(Found::node)
                .filter(Folder.class::isInstance)
                .flatMap(folder -> ((Folder) folder).entry(path.substring(name + 1)))
                .filter(Link.class::isInstance)
                .map(link -> ((Link) link).target());
    }

    /** What a path leads to, with all links followed. */
    private Optional<Found> find(String path) {
        Deque<String> ahead = new ArrayDeque<>(List.of(path.split("/", -1)));
        List<String> names = new ArrayList<>();
        Deque<Folder> above = new ArrayDeque<>();
        Node at = root;
        int links = 0;
        while (!ahead.isEmpty()) {
            String name = ahead.removeFirst();
            if (name.isEmpty() || name.equals(".")) {
                continue;
            }
            if (!(at instanceof Folder folder)) {
                return Optional.empty();
            }
            if (name.equals("..")) {
                if (above.isEmpty()) {
                    return Optional.empty();
                }
                at = above.pop();
                names.remove(names.size() - 1);
                continue;
            }
            Optional<Node> next = folder.entry(name);
            if (next.isEmpty()) {
                return Optional.empty();
            }
            if (next.get() instanceof Link link) {
                links++;
                if (links > MOST_LINKS || link.target().startsWith("/")) {
                    return Optional.empty();
                }
                List<String> target = List.of(link.target().split("/", -1));
                for (int i = target.size() - 1; i >= 0; i--) {
                    ahead.addFirst(target.get(i));
                }
                continue;
            }
            above.push(folder);
            names.add(name);
            at = next.get();
        }
        return Optional.of(new Found(at, "/" + String.join("/", names)));
    }

    /** Counts what is unpacked, and stops where it becomes too much, before anybody keeps it. */
    private static final class Metered extends FilterInputStream {
        private final Path archive;
        private long read;
        private long most;
        private String reason = "";

        Metered(Path archive, InputStream in) {
            super(in);
            this.archive = archive;
        }

        /** Lets so many more bytes through. */
        void allow(long bytes, String otherwise) {
            most = Math.min(MOST_UNPACKED, read + bytes);
            reason = most == MOST_UNPACKED ? "unpacks to more than " + MOST_UNPACKED + " bytes" : otherwise;
        }

        private int count(int bytes) {
            read += Math.max(0, bytes);
            if (read > most) {
                throw new TopologyException(archive + ": " + reason
                        + "; pack only the files of /sys and /proc that matter again, with tar -czf");
            }
            return bytes;
        }

        @Override
        public int read() throws IOException {
            int one = super.read();
            count(one < 0 ? 0 : 1);
            return one;
        }

        @Override
        public int read(byte[] bytes, int from, int length) throws IOException {
            return count(super.read(bytes, from, length));
        }

        @Override
        public long skip(long bytes) throws IOException {
            long skipped = 0;
            byte[] some = new byte[8192];
            while (skipped < bytes) {
                int now = read(some, 0, (int) Math.min(some.length, bytes - skipped));
                if (now < 0) {
                    break;
                }
                skipped += now;
            }
            return skipped;
        }
    }
}
