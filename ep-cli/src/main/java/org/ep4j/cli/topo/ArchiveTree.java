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

    /** File, folder or link of a name. */
    sealed interface Node {}

    private static final class Folder implements Node {
        private final Map<String, Node> entries = new TreeMap<>();
    }

    /** A file; hard links share one. */
    @SuppressWarnings("ArrayRecordComponent") // equality is not asked of it
    record Content(byte[] bytes) implements Node {}

    record Link(String target) implements Node {}

    /** The end of a path: names of the folders above, and the node. */
    private record Place(List<String> names, Node node) {}

    /** Returns the components of a path, without those that change nothing. */
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
        return node(path, Content.class).map(file -> file.bytes.clone());
    }

    @Override
    public List<String> list(String path) {
        return node(path, Folder.class)
                .map(folder -> List.copyOf(folder.entries.keySet()))
                .orElse(List.of());
    }

    @Override
    public Optional<String> real(String path) {
        return walk(path).map(place -> "/" + String.join("/", place.names()));
    }

    @Override
    public Optional<String> link(String path) {
        int name = path.lastIndexOf('/');
        return node(path.substring(0, Math.max(0, name)), Folder.class)
                .map(folder -> folder.entries.get(path.substring(name + 1)))
                .filter(Link.class::isInstance)
                .map(node -> ((Link) node).target());
    }

    private <T extends Node> Optional<T> node(String path, Class<T> kind) {
        return walk(path).map(Place::node).filter(kind::isInstance).map(kind::cast);
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
