package org.ep4j.backend.nvshmem;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpUnavailableException;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LibraryFolders;

/**
 * An installed NVSHMEM: host library, archive of device code and headers of one version.
 *
 * @param host {@code libnvshmem_host.so.3}
 * @param device {@code libnvshmem_device.a}
 * @param include folder of {@code nvshmem.h}
 * @param version of the headers
 */
record NvshmemInstallation(Path host, Path device, Path include, NvshmemVersion version) {
    private static final String HOST = "libnvshmem_host.so.3";
    private static final String DEVICE = "libnvshmem_device.a";

    /**
     * Finds the newest, or the one that is named.
     *
     * @param named folder of the installation, or its library; empty looks in the usual places
     * @param environment of the process
     * @param root {@code /}, or another folder that stands for it
     * @throws EpUnavailableException when there is none, naming where it was looked for
     */
    static NvshmemInstallation find(String named, Map<String, String> environment, Path root) {
        FileTree files = FileTree.of(root);
        Set<Path> folders = new LinkedHashSet<>();
        if (named.isBlank()) {
            LibraryFolders.existing(files, environment)
                    .forEach(folder -> folders.add(root.resolve(folder.substring(1))));
        } else {
            folders.addAll(named(Path.of(named)));
        }
        List<String> partly = new ArrayList<>();
        Optional<NvshmemInstallation> best = folders.stream()
                .flatMap(folder -> in(folder, partly).stream())
                .max(Comparator.comparing(NvshmemInstallation::version));
        return best.orElseThrow(() -> new EpUnavailableException("NVSHMEM was not found"
                + (partly.isEmpty() ? "" : " whole (" + String.join("; ", partly) + ")") + ", looked in "
                + (named.isBlank() ? LibraryFolders.searched(files, environment) : folders)
                + "; install the Python package nvidia-nvshmem-cu12 or -cu13 or NVIDIA's package, or set "
                + NvshmemKeys.HOME.name() + " to its folder"));
    }

    /** Folders of libraries for a path that names an installation, its folder of libraries, or a library. */
    private static List<Path> named(Path path) {
        List<Path> folders = new ArrayList<>(List.of(
                path.resolve("lib"),
                path.resolve("lib64"),
                path.resolve("lib/x86_64-linux-gnu/nvshmem/13"),
                path.resolve("lib/x86_64-linux-gnu/nvshmem/12"),
                path));
        Optional.ofNullable(path.getParent()).ifPresent(folders::add);
        return folders;
    }

    /** @param partly gets what is missing where a part is there */
    private static Optional<NvshmemInstallation> in(Path folder, List<String> partly) {
        Path host = folder.resolve(HOST);
        if (!Files.isRegularFile(host)) {
            return Optional.empty();
        }
        Path device = folder.resolve(DEVICE);
        // NVIDIA's Debian packages: lib/x86_64-linux-gnu/nvshmem/13 and include/nvshmem_13.
        Path beside = folder.resolve("../include").normalize();
        Path packaged = folder.resolve("../../../../include/nvshmem_" + folder.getFileName())
                .normalize();
        for (Path include : List.of(beside, packaged)) {
            Optional<NvshmemVersion> version = NvshmemVersion.of(include);
            if (version.isPresent() && Files.isRegularFile(device)) {
                return Optional.of(new NvshmemInstallation(host, device, include, version.get()));
            }
        }
        partly.add(host + " has no " + DEVICE + " beside it or no headers in " + beside);
        return Optional.empty();
    }
}
