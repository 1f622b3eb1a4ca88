package org.ep4j.topology.read;

import java.util.List;
import java.util.Optional;

/**
 * A tree whose files are all in one folder of it.
 *
 * @param folder path of the folder
 * @param tree what is in it
 */
record PrefixTree(String folder, FileTree tree) implements FileTree {
    @Override
    public Optional<String> text(String path) {
        return inside(path).flatMap(tree::text);
    }

    @Override
    public Optional<byte[]> bytes(String path) {
        return inside(path).flatMap(tree::bytes);
    }

    @Override
    public List<String> list(String path) {
        return inside(path).map(tree::list).orElse(List.of());
    }

    @Override
    public Optional<String> link(String path) {
        return inside(path).flatMap(tree::link);
    }

    @Override
    public Optional<String> real(String path) {
        return inside(path).flatMap(tree::real).map(found -> found.equals("/") ? folder : folder + found);
    }

    private Optional<String> inside(String path) {
        if (path.equals(folder)) {
            return Optional.of("/");
        }
        return path.startsWith(folder + "/") ? Optional.of(path.substring(folder.length())) : Optional.empty();
    }
}
