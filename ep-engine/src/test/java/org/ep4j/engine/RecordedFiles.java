package org.ep4j.engine;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.read.FileTree;

/** Files without links, by path. */
record RecordedFiles(Map<String, String> texts) implements FileTree {
    @Override
    public Optional<String> text(String path) {
        return Optional.ofNullable(texts.get(path));
    }

    @Override
    public List<String> list(String path) {
        return texts.keySet().stream()
                .filter(file -> file.startsWith(path + "/"))
                .map(file -> file.substring(path.length() + 1).replaceAll("/.*", ""))
                .distinct()
                .sorted(Comparator.naturalOrder())
                .toList();
    }

    @Override
    public Optional<String> real(String path) {
        return texts.containsKey(path) || !list(path).isEmpty() ? Optional.of(path) : Optional.empty();
    }

    @Override
    public Optional<String> link(String path) {
        return Optional.empty();
    }
}
