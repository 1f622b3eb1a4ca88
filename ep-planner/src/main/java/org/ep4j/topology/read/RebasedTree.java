package org.ep4j.topology.read;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A tree that shows another tree under other paths. {@code there} maps a path of this tree to one of the other, and
 * {@code here} the other way; empty where a path has no counterpart.
 */
record RebasedTree(FileTree tree, Function<String, Optional<String>> there, Function<String, Optional<String>> here)
        implements FileTree {
    static FileTree of(String folder, FileTree tree) {
        return new RebasedTree(tree, path -> Optional.of(joined(folder, path)), path -> inside(folder, path));
    }

    static FileTree under(String folder, FileTree tree) {
        return new RebasedTree(tree, path -> inside(folder, path), path -> Optional.of(joined(folder, path)));
    }

    private static String joined(String folder, String path) {
        return path.equals("/") ? folder : folder + path;
    }

    private static Optional<String> inside(String folder, String path) {
        if (path.equals(folder)) {
            return Optional.of("/");
        }
        return path.startsWith(folder + "/") ? Optional.of(path.substring(folder.length())) : Optional.empty();
    }

    @Override
    public Optional<String> text(String path) {
        return there.apply(path).flatMap(tree::text);
    }

    @Override
    public Optional<byte[]> bytes(String path) {
        return there.apply(path).flatMap(tree::bytes);
    }

    @Override
    public List<String> list(String path) {
        return there.apply(path).map(tree::list).orElse(List.of());
    }

    @Override
    public Optional<String> link(String path) {
        return there.apply(path).flatMap(tree::link);
    }

    @Override
    public Optional<String> real(String path) {
        return there.apply(path).flatMap(tree::real).flatMap(here);
    }
}
