package org.ep4j.topology.read;

import java.util.List;
import java.util.Optional;

/**
 * One folder of a tree, as a tree.
 *
 * @param folder path of the folder
 * @param tree where it is
 */
record SubTree(String folder, FileTree tree) implements FileTree {
    @Override
    public Optional<String> text(String path) {
        return tree.text(folder + path);
    }

    @Override
    public Optional<byte[]> bytes(String path) {
        return tree.bytes(folder + path);
    }

    @Override
    public List<String> list(String path) {
        return tree.list(folder + path);
    }

    @Override
    public Optional<String> link(String path) {
        return tree.link(folder + path);
    }

    @Override
    public Optional<String> real(String path) {
        return tree.real(folder + path)
                .filter(found -> found.startsWith(folder + "/"))
                .map(found -> found.substring(folder.length()));
    }
}
