package org.ep4j.cli.topo;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Limits;

/**
 * Files, folders and links of an archive, in memory. A link is followed inside the tree only: one that is absolute or leads above
 * the top leads nowhere.
 */
final class ArchiveTree implements FileTree {
    private final Folder root = new Folder();

    /** What a name stands for. */
    sealed interface Node {}

    private static final class Folder implements Node {
        private final Map<String, Node> entries = new TreeMap<>();
    }

    /** A file; hard links share one. */
    static final class Content implements Node {
        private final byte[] bytes;

        /** Takes over the bytes. */
        Content(byte[] bytes) {
            this.bytes = bytes;
        }
    }

    record Link(String target) implements Node {}

    /** Where a path leads: names of the folders above, and what is there. */
    private record Place(List<String> names, Node node) {}

    /** Components of a path, without what changes nothing. */
    static List<String> components(String path) {
        List<String> names = new ArrayList<>(List.of(path.split("/", -1)));
        names.removeIf(name -> name.isEmpty() || name.equals("."));
        return names;
    }

    /**
     * Makes the folders of a path, in place of links of these names.
     *
     * @return how many are new; -1 where a file is in the way
     */
    int folders(List<String> names) {
        Folder folder = root;
        int made = 0;
        for (String name : names) {
            Node there = folder.entries.get(name);
            if (there instanceof Content) {
                return -1;
            }
            if (there instanceof Folder known) {
                folder = known;
            } else {
                Folder fresh = new Folder();
                folder.entries.put(name, fresh);
                folder = fresh;
                made++;
            }
        }
        return made;
    }

    /** Puts a file or link into a folder that was made; a folder of this name stays. */
    void put(List<String> names, Node node) {
        int last = names.size() - 1;
        if (at(names.subList(0, last)).orElse(root) instanceof Folder folder
                && !(folder.entries.get(names.get(last)) instanceof Folder)) {
            folder.entries.put(names.get(last), node);
        }
    }

    /** A file by its own name; no link is followed. */
    Optional<Content> file(List<String> names) {
        return at(names).filter(Content.class::isInstance).map(Content.class::cast);
    }

    private Optional<Node> at(List<String> names) {
        Optional<Node> found = Optional.of(root);
        for (String name : names) {
            found = found.filter(Folder.class::isInstance)
                    .flatMap(folder -> Optional.ofNullable(((Folder) folder).entries.get(name)));
        }
        return found;
    }

    @Override
    public Optional<String> text(String path) {
        return bytes(path).map(FileTree::stripped);
    }

    @Override
    public Optional<byte[]> bytes(String path) {
        return walk(path)
                .map(Place::node)
                .filter(Content.class::isInstance)
                .map(node -> ((Content) node).bytes.clone());
    }

    @Override
    public List<String> list(String path) {
        return walk(path)
                .map(Place::node)
                .filter(Folder.class::isInstance)
                .map(node -> List.copyOf(((Folder) node).entries.keySet()))
                .orElse(List.of());
    }

    @Override
    public Optional<String> real(String path) {
        return walk(path).map(place -> "/" + String.join("/", place.names()));
    }

    @Override
    public Optional<String> link(String path) {
        int name = path.lastIndexOf('/');
        return walk(path.substring(0, Math.max(0, name)))
                .map(Place::node)
                .filter(Folder.class::isInstance)
                .map(node -> ((Folder) node).entries.get(path.substring(name + 1)))
                .filter(Link.class::isInstance)
                .map(node -> ((Link) node).target());
    }

    /** Follows a path and the links on it; empty when that leads nowhere. */
    private Optional<Place> walk(String path) {
        Deque<String> ahead = new ArrayDeque<>(components(path));
        List<String> names = new ArrayList<>();
        List<Node> nodes = new ArrayList<>(List.of(root));
        int followed = 0;
        while (!ahead.isEmpty()) {
            String name = ahead.pop();
            Node here = nodes.get(names.size());
            boolean up = name.equals("..");
            if (!(here instanceof Folder folder) || (up && names.isEmpty())) {
                return Optional.empty();
            }
            Node next = up ? root : folder.entries.get(name);
            if (next == null) {
                return Optional.empty();
            }
            if (up) {
                nodes.remove(names.size());
                names.remove(names.size() - 1);
            } else if (next instanceof Link link) {
                followed++;
                if (followed > Limits.LINKS || link.target().startsWith("/")) {
                    return Optional.empty();
                }
                List<String> inside = components(link.target());
                Collections.reverse(inside);
                inside.forEach(ahead::push);
            } else {
                names.add(name);
                nodes.add(next);
            }
        }
        return Optional.of(new Place(names, nodes.get(names.size())));
    }
}
