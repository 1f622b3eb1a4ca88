package org.ep4j.gpu.cuda;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.ep4j.EpUnavailableException;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LibraryFolders;

/**
 * An installed NVRTC.
 *
 * @param compiler the library {@code libnvrtc.so.*}
 * @param builtins the library {@code libnvrtc-builtins.so.*} beside it
 * @param major CUDA version from the name of the builtins
 * @param minor likewise
 */
record NvrtcInstallation(Path compiler, Path builtins, int major, int minor) {
    /** Environment variable that names the library or its folder. */
    static final String VARIABLE = "EP_NVRTC";

    private static final Pattern COMPILER = Pattern.compile("libnvrtc\\.so\\.[0-9.]+");
    private static final Pattern BUILTINS = Pattern.compile("libnvrtc-builtins\\.so\\.([0-9]+)\\.([0-9]+)");

    /**
     * Finds the newest that is not newer than the driver; machine code of a newer compiler may not load.
     *
     * @param root {@code /}, or a folder in its place
     * @param driver version of the driver, as 1000 * major + 10 * minor
     * @throws EpUnavailableException when there is none, with the folders that were searched
     */
    static NvrtcInstallation find(Map<String, String> environment, Path root, int driver) {
        List<NvrtcInstallation> found = folders(environment, root).stream()
                .flatMap(folder -> in(folder).stream())
                .toList();
        if (environment.containsKey(VARIABLE) && !found.isEmpty()) {
            // Asked for by name: no other is better.
            return found.get(0);
        }
        return found.stream()
                .filter(one -> one.major <= driver / 1000)
                .max(Comparator.comparingInt(NvrtcInstallation::major).thenComparingInt(NvrtcInstallation::minor))
                .orElseThrow(
                        () -> new EpUnavailableException("kernels are compiled on this machine, and no NVRTC for CUDA "
                                + driver / 1000 + " or older was found"
                                + (found.isEmpty()
                                        ? ""
                                        : " (only CUDA " + found.get(0).major + ", newer than the driver)")
                                + ", looked in " + LibraryFolders.searched(FileTree.of(root), environment)
                                + "; install the CUDA toolkit or the Python package"
                                + " nvidia-cuda-nvrtc, or set " + VARIABLE + " to libnvrtc.so or its folder"));
    }

    private static List<Path> folders(Map<String, String> environment, Path root) {
        String named = environment.getOrDefault(VARIABLE, "");
        if (!named.isBlank()) {
            return List.of(folder(Path.of(named)));
        }
        return LibraryFolders.existing(FileTree.of(root), environment).stream()
                .map(folder -> root.resolve(folder.substring(1)))
                .toList();
    }

    /** Returns a folder itself, or the folder of a library. */
    static Path folder(Path named) {
        return Files.isDirectory(named)
                ? named
                : Optional.ofNullable(named.getParent()).orElse(named);
    }

    private static Optional<NvrtcInstallation> in(Path folder) {
        try (Stream<Path> entries = Files.list(folder)) {
            List<Path> files = entries.sorted().toList();
            Optional<Path> compiler = files.stream()
                    .filter(file ->
                            COMPILER.matcher(file.getFileName().toString()).matches())
                    .findFirst();
            for (Path file : files) {
                Matcher name = BUILTINS.matcher(file.getFileName().toString());
                if (compiler.isPresent() && name.matches()) {
                    return Optional.of(new NvrtcInstallation(
                            compiler.get(), file, Integer.parseInt(name.group(1)), Integer.parseInt(name.group(2))));
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
