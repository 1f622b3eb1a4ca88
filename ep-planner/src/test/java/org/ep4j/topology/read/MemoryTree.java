package org.ep4j.topology.read;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** Files and links that exist in memory alone. */
final class MemoryTree implements FileTree {
    private static final int MOST_LINKS = 40;

    final Map<String, String> files = new TreeMap<>();
    final Map<String, String> links = new TreeMap<>();

    /** Adds a file. */
    MemoryTree file(String path, String text) {
        files.put(path, text);
        return this;
    }

    /** Adds a link to an absolute path. */
    MemoryTree linked(String path, String target) {
        links.put(path, target);
        return this;
    }

    @Override
    public Optional<String> text(String path) {
        return real(path).map(files::get).map(String::strip);
    }

    @Override
    public List<String> list(String path) {
        String folder = real(path).map(found -> found + "/").orElse("\n");
        Set<String> names = new LinkedHashSet<>();
        for (Map<String, String> entries : List.of(files, links)) {
            entries.keySet().stream()
                    .filter(entry -> entry.startsWith(folder))
                    .map(entry -> entry.substring(folder.length()).replaceAll("/.*", ""))
                    .forEach(names::add);
        }
        return names.stream().sorted().toList();
    }

    @Override
    public Optional<String> real(String path) {
        String found = "";
        List<String> components = List.of(path.replaceAll("/+$", "").split("/", -1));
        for (String component : components.subList(1, components.size())) {
            found = found + "/" + component;
            for (int i = 0; links.containsKey(found); i++) {
                if (i == MOST_LINKS) {
                    return Optional.empty();
                }
                found = links.getOrDefault(found, found);
            }
        }
        String folder = found + "/";
        boolean there = files.containsKey(found)
                || files.keySet().stream().anyMatch(file -> file.startsWith(folder))
                || links.keySet().stream().anyMatch(link -> link.startsWith(folder));
        return there ? Optional.of(found) : Optional.empty();
    }

    @Override
    public Optional<String> link(String path) {
        int name = path.lastIndexOf('/');
        return real(path.substring(0, name)).map(folder -> links.get(folder + path.substring(name)));
    }
}
