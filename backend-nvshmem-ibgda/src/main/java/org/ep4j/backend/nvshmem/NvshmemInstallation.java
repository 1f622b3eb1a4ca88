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
import org.ep4j.topology.read.NvshmemFolders;

/**
 * An installed NVSHMEM: host library, archive of device code and headers of one version.
 *
 * @param host {@code libnvshmem_host.so.3}
 * @param device {@code libnvshmem_device.a}
 * @param include folder of {@code nvshmem.h}
 * @param version of the headers
 */
record NvshmemInstallation(Path host, Path device, Path include, NvshmemVersion version) {
    private static final String CUDA_RUNTIME = "cuda_runtime.h";
    private static final String CCCL = "cuda/std/type_traits";

    /**
     * Finds the newest, or the one that is named.
     *
     * @param named folder of the installation, or its library; empty searches the usual places
     * @param environment of the process
     * @param root {@code /}, or another folder that stands for it
     * @throws EpUnavailableException when there is none, naming the folders that were searched
     */
    static NvshmemInstallation find(String named, Map<String, String> environment, Path root) {
        FileTree files = FileTree.of(root);
        Set<Path> folders = new LinkedHashSet<>();
        if (named.isBlank()) {
            LibraryFolders.existing(files, environment)
                    .forEach(folder -> folders.add(root.resolve(folder.substring(1))));
        } else {
            folders.addAll(NvshmemFolders.named(Path.of(named)));
        }
        List<String> partly = new ArrayList<>();
        Optional<NvshmemInstallation> best = folders.stream()
                .flatMap(folder -> in(folder, partly).stream())
                .max(Comparator.comparing(NvshmemInstallation::version));
        return best.orElseThrow(() -> new EpUnavailableException("NVSHMEM was not found"
                + (partly.isEmpty() ? "" : " completely (" + String.join("; ", partly) + ")") + ", looked in "
                + (named.isBlank() ? LibraryFolders.searched(files, environment) : folders)
                + "; install the Python package nvidia-nvshmem-cu12 or -cu13 or NVIDIA's package, or set "
                + NvshmemKeys.HOME.name() + " to its folder"));
    }

    /** @param partly gets what is missing where a part is there */
    private static Optional<NvshmemInstallation> in(Path folder, List<String> partly) {
        Path host = folder.resolve(NvshmemFolders.HOST);
        if (!Files.isRegularFile(host)) {
            return Optional.empty();
        }
        Path device = folder.resolve(NvshmemFolders.DEVICE);
        List<Path> includes = NvshmemFolders.headers(folder);
        for (Path include : includes) {
            Optional<NvshmemVersion> version = NvshmemVersion.of(include);
            if (version.isPresent() && Files.isRegularFile(device)) {
                return Optional.of(new NvshmemInstallation(host, device, include, version.get()));
            }
        }
        partly.add(host + " has no " + NvshmemFolders.DEVICE + " in the same folder, or there are no headers in "
                + includes.get(0));
        return Optional.empty();
    }

    /**
     * Finds the headers of the CUDA runtime and of CCCL, which NVSHMEM's headers include.
     *
     * @return folders to include from; empty where there are none
     */
    List<Path> cudaHeaders(Map<String, String> environment, Path root) {
        for (Path folder : cudaFolders(environment, root)) {
            if (!Files.isRegularFile(folder.resolve(CUDA_RUNTIME))) {
                continue;
            }
            for (Path cccl : List.of(folder.resolve("cccl"), folder, folder.resolve("../../cuda_cccl/include"))) {
                if (Files.isRegularFile(cccl.resolve(CCCL))) {
                    return List.of(folder, cccl.normalize());
                }
            }
        }
        return List.of();
    }

    /** Folders that {@link #cudaHeaders} searches, also those beside a Python package of NVSHMEM. */
    Set<Path> cudaFolders(Map<String, String> environment, Path root) {
        Set<Path> folders = new LinkedHashSet<>();
        for (String variable : List.of("CUDA_HOME", "CUDA_PATH")) {
            String text = environment.getOrDefault(variable, "");
            if (!text.isBlank()) {
                folders.add(Path.of(text, "include"));
            }
        }
        folders.add(root.resolve("usr/local/cuda/include"));
        for (int major : new int[] {13, 12}) {
            for (int minor = 9; minor >= 0; minor--) {
                folders.add(root.resolve("usr/local/cuda-" + major + "." + minor + "/include"));
            }
        }
        List<String> packages = List.of("cu13/include", "cu12/include", "cuda_runtime/include");
        Optional.ofNullable(include.getParent())
                .flatMap(home -> Optional.ofNullable(home.getParent()))
                .ifPresent(nvidia -> packages.forEach(one -> folders.add(nvidia.resolve(one))));
        folders.add(root.resolve("usr/include"));
        return folders;
    }
}
