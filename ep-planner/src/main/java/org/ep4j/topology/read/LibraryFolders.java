package org.ep4j.topology.read;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Folders in which backends and reports look for native libraries: folders that the environment names, ROCm, the
 * folders of the system's loader and of drivers, CUDA toolkits, Python packages.
 */
public final class LibraryFolders {
    /** Variables that name a library or its folder, or the folder above that. */
    private static final List<String> NAMED = List.of(
            "EP_NVRTC",
            "EP_HIP_RUNTIME",
            "EP_NVSHMEM",
            "EP_NVSHMEM_HOME",
            "NVSHMEM_HOME",
            "CUDA_HOME",
            "CUDA_PATH",
            "ROCM_PATH",
            "ROCM_HOME",
            "HIP_PATH");

    /** Where distributions, container runtimes and vendors put them. */
    private static final List<String> STANDARD = List.of(
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/usr/lib64",
            "/usr/lib",
            "/usr/local/lib",
            "/usr/local/lib64",
            "/lib/x86_64-linux-gnu",
            "/lib64",
            "/lib",
            "/usr/local/nvidia/lib64",
            "/run/opengl-driver/lib",
            "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
            "/usr/lib/wsl/lib",
            "/opt/amazon/efa/lib",
            "/opt/amazon/efa/lib64",
            "/opt/nvshmem/lib",
            "/opt/nvidia/nvshmem/lib",
            "/usr/local/nvshmem/lib",
            "/usr/lib/x86_64-linux-gnu/nvshmem/13",
            "/usr/lib/x86_64-linux-gnu/nvshmem/12");

    private final FileTree files;
    private final Map<String, String> environment;
    private final Set<String> found = new LinkedHashSet<>();

    private LibraryFolders(FileTree files, Map<String, String> environment) {
        this.files = files;
        this.environment = environment;
    }

    /**
     * Folders that are there, in the order in which they are searched; a folder that several paths lead to is listed
     * once.
     *
     * @param files the machine, or a recording of it
     * @param environment variables of the process
     */
    public static List<String> existing(FileTree files, Map<String, String> environment) {
        Map<String, String> byPlace = new LinkedHashMap<>();
        for (String folder : searched(files, environment)) {
            files.real(folder).ifPresent(place -> byPlace.putIfAbsent(place, folder));
        }
        return List.copyOf(byPlace.values());
    }

    /** All folders that are searched, whether they are there or not; for messages. */
    public static List<String> searched(FileTree files, Map<String, String> environment) {
        LibraryFolders folders = new LibraryFolders(files, environment);
        folders.search();
        return List.copyOf(folders.found);
    }

    private void search() {
        paths("LD_LIBRARY_PATH").forEach(found::add);
        for (String name : NAMED) {
            home(variable(name));
        }
        found.add("/opt/rocm/lib");
        files.list("/opt").stream()
                .filter(name -> name.startsWith("rocm-"))
                .sorted(Comparator.comparing(LibraryFolders::numbers).reversed())
                .forEach(name -> found.add("/opt/" + name + "/lib"));
        for (String name : files.list("/etc/ld.so.conf.d")) {
            files.text("/etc/ld.so.conf.d/" + name)
                    .orElse("")
                    .lines()
                    .map(String::strip)
                    .filter(line -> line.startsWith("/"))
                    .forEach(found::add);
        }
        found.addAll(STANDARD);
        files.list("/usr/local").stream()
                .filter(name -> name.startsWith("cuda"))
                .forEach(name -> toolkit("/usr/local/" + name));
        python();
    }

    private void home(String named) {
        if (named.isEmpty()) {
            return;
        }
        int name = named.lastIndexOf('/');
        if (named.indexOf(".so", name) >= 0) {
            // Only a library's own folder: the one above a folder may be anybody's.
            found.add(named.substring(0, Math.max(1, name)));
        } else {
            found.add(named);
            toolkit(named);
        }
    }

    private void toolkit(String folder) {
        found.add(folder + "/lib64");
        found.add(folder + "/lib");
        for (String target : files.list(folder + "/targets")) {
            found.add(folder + "/targets/" + target + "/lib");
        }
    }

    /** Wheels of NVIDIA unpack below {@code nvidia} in site-packages, those of ROCm into a folder of their own. */
    private void python() {
        Set<String> prefixes = new LinkedHashSet<>();
        String conda = variable("CONDA_PREFIX");
        if (!conda.isEmpty()) {
            // Packages of conda put libraries there themselves.
            found.add(conda + "/lib");
        }
        Stream.of(variable("VIRTUAL_ENV"), conda)
                .filter(prefix -> !prefix.isEmpty())
                .forEach(prefixes::add);
        for (String folder : paths("PATH").toList()) {
            int bin = folder.lastIndexOf('/');
            if (bin > 0 && files.exists(folder + "/python3")) {
                prefixes.add(folder.substring(0, bin));
            }
        }
        if (!variable("HOME").isEmpty()) {
            prefixes.add(variable("HOME") + "/.local");
        }
        prefixes.addAll(List.of("/usr/local", "/usr"));
        Set<String> sites = new LinkedHashSet<>();
        for (String prefix : prefixes) {
            for (String name : files.list(prefix + "/lib")) {
                if (name.startsWith("python3")) {
                    sites.add(prefix + "/lib/" + name + "/site-packages");
                    sites.add(prefix + "/lib/" + name + "/dist-packages");
                }
            }
        }
        paths("PYTHONPATH").forEach(sites::add);
        for (String site : sites) {
            for (String name : files.list(site + "/nvidia")) {
                found.add(site + "/nvidia/" + name + "/lib");
            }
            found.add(site + "/_rocm_sdk_core/lib");
        }
    }

    /** The absolute paths of a list; others depend on where a process was started. */
    private Stream<String> paths(String variable) {
        return Stream.of(environment.getOrDefault(variable, "").split(":", -1))
                .filter(path -> path.startsWith("/"))
                .map(LibraryFolders::trimmed);
    }

    private String variable(String name) {
        String value = environment.getOrDefault(name, "").strip();
        return value.startsWith("/") ? trimmed(value) : "";
    }

    private static String trimmed(String path) {
        return path.replaceFirst("(?<=.)/+$", "");
    }

    /** {@code 006.004.001} for {@code rocm-6.4.1}: sorts by number. */
    private static String numbers(String name) {
        StringBuilder key = new StringBuilder();
        for (String part : name.replaceAll("[^0-9.]", "").split("\\.", -1)) {
            key.append("0".repeat(Math.max(0, 6 - part.length()))).append(part).append('.');
        }
        return key.toString();
    }
}
