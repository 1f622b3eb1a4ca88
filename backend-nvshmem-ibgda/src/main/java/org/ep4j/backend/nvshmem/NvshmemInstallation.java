package org.ep4j.backend.nvshmem;

import java.io.File;
import java.io.IOException;
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
        Set<Path> homes = named.isBlank() ? homes(environment, root) : named(Path.of(named));
        List<String> partly = new ArrayList<>();
        Optional<NvshmemInstallation> best = homes.stream()
                .flatMap(home -> at(home, partly).stream())
                .max(Comparator.comparing(NvshmemInstallation::version));
        return best.orElseThrow(() -> new EpUnavailableException("NVSHMEM was not found"
                + (partly.isEmpty() ? "" : " whole (" + String.join("; ", partly) + ")") + ", looked in " + homes
                + "; install the Python package nvidia-nvshmem-cu12 or -cu13 or NVIDIA's package, or set "
                + NvshmemKeys.HOME.name() + " to its folder"));
    }

    private static Set<Path> named(Path path) {
        Set<Path> homes = new LinkedHashSet<>();
        homes.add(path);
        // A library in the folder lib, or that folder.
        Optional.ofNullable(path.getParent()).ifPresent(parent -> {
            homes.add(parent);
            Optional.ofNullable(parent.getParent()).ifPresent(homes::add);
        });
        return homes;
    }

    private static Set<Path> homes(Map<String, String> environment, Path root) {
        Set<Path> homes = new LinkedHashSet<>();
        List<Path> prefixes = new ArrayList<>();
        for (String variable : List.of("VIRTUAL_ENV", "CONDA_PREFIX")) {
            String text = environment.getOrDefault(variable, "");
            if (!text.isBlank()) {
                prefixes.add(Path.of(text));
            }
        }
        for (String folder : environment.getOrDefault("PATH", "").split(File.pathSeparator, -1)) {
            if (!folder.isBlank() && Files.exists(Path.of(folder, "python3"))) {
                Optional.ofNullable(Path.of(folder).getParent()).ifPresent(prefixes::add);
            }
        }
        String home = environment.getOrDefault("HOME", "");
        if (!home.isBlank()) {
            prefixes.add(Path.of(home, ".local"));
        }
        prefixes.add(root.resolve("usr/local"));
        prefixes.add(root.resolve("usr"));
        for (Path prefix : prefixes) {
            for (Path python : glob(prefix.resolve("lib"), "python3*")) {
                homes.add(python.resolve("site-packages/nvidia/nvshmem"));
                homes.add(python.resolve("dist-packages/nvidia/nvshmem"));
            }
            homes.add(prefix);
        }
        homes.add(root.resolve("usr/local/nvshmem"));
        homes.add(root.resolve("opt/nvidia/nvshmem"));
        homes.add(root.resolve("opt/nvshmem"));
        return homes;
    }

    private static List<Path> glob(Path folder, String pattern) {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (var entries = Files.newDirectoryStream(folder, pattern)) {
            List<Path> found = new ArrayList<>();
            entries.forEach(found::add);
            found.sort(Comparator.reverseOrder());
            return found;
        } catch (IOException e) {
            return List.of();
        }
    }

    /** @param partly gets what is missing where a part is there */
    private static Optional<NvshmemInstallation> at(Path home, List<String> partly) {
        for (String libraries :
                List.of("lib", "lib64", "lib/x86_64-linux-gnu/nvshmem/13", "lib/x86_64-linux-gnu/nvshmem/12")) {
            Path host = home.resolve(libraries).resolve(HOST);
            if (!Files.isRegularFile(host)) {
                continue;
            }
            Path device = home.resolve(libraries).resolve(DEVICE);
            String major = libraries.substring(libraries.lastIndexOf('/') + 1);
            for (Path include : List.of(home.resolve("include"), home.resolve("include/nvshmem_" + major))) {
                Optional<NvshmemVersion> version = NvshmemVersion.of(include);
                if (version.isPresent() && Files.isRegularFile(device)) {
                    return Optional.of(new NvshmemInstallation(host, device, include, version.get()));
                }
            }
            partly.add(host + " has no " + DEVICE + " beside it or no headers in " + home.resolve("include"));
        }
        return Optional.empty();
    }
}
