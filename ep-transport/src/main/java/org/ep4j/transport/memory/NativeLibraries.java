package org.ep4j.transport.memory;

import com.sun.jna.NativeLibrary;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LibraryFolders;

/** Finds libraries of drivers. */
public final class NativeLibraries {
    private NativeLibraries() {}

    /**
     * Loads the first that is there: by absolute path in {@link LibraryFolders}, then
     * wherever the system's loader finds it.
     *
     * @param names file names, best first
     * @return empty when none of them can be loaded
     * @throws org.ep4j.EpUnavailableException when JNA cannot start here
     */
    public static Optional<NativeLibrary> load(List<String> names) {
        NativeMethods.require();
        List<String> candidates = new ArrayList<>();
        for (String folder : LibraryFolders.existing(FileTree.of(Path.of("/")), System.getenv())) {
            names.stream()
                    .map(name -> Path.of(folder, name))
                    .filter(Files::isRegularFile)
                    .forEach(file -> candidates.add(file.toString()));
        }
        candidates.addAll(names);
        return candidates.stream().flatMap(name -> open(name).stream()).findFirst();
    }

    private static Optional<NativeLibrary> open(String name) {
        try {
            return Optional.of(NativeLibrary.getInstance(name));
        } catch (LinkageError e) {
            // Not there, or for another machine: the next one.
            return Optional.empty();
        }
    }
}
