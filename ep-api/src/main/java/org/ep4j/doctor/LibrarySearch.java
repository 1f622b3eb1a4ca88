package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.read.FileTree;

/**
 * Looks for {@link KnownLibrary}s where loaders and Python packages have them. Versions come from file names, from the
 * name of the package's folder of facts ({@code nvidia_nccl_cu12-2.27.3.dist-info}), and from ROCm's {@code .info/version}.
 */
public final class LibrarySearch {
    private static final List<String> STANDARD = List.of(
            "/lib",
            "/lib64",
            "/usr/lib",
            "/usr/lib64",
            "/usr/local/lib",
            "/usr/local/lib64",
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/opt/amazon/efa/lib",
            "/opt/amazon/efa/lib64",
            "/opt/nvshmem/lib",
            "/usr/local/nvshmem/lib",
            "/usr/lib/x86_64-linux-gnu/nvshmem/12",
            "/usr/lib/x86_64-linux-gnu/nvshmem/13");
    private static final Pattern PACKAGE = Pattern.compile("(.+)-([0-9][0-9.]*).*\\.dist-info");

    private LibrarySearch() {}

    /** All that are found, each file once, links resolved. */
    public static List<FoundLibrary> in(FileTree files, Map<String, String> environment) {
        Map<String, FoundLibrary> found = new LinkedHashMap<>();
        for (String folder : folders(files, environment)) {
            for (String name : files.list(folder)) {
                for (KnownLibrary library : KnownLibrary.all()) {
                    if (name.equals(library.file()) || name.startsWith(library.file() + ".")) {
                        files.real(folder + "/" + name)
                                .ifPresent(path -> found.merge(
                                        path,
                                        new FoundLibrary(library, version(files, library, folder, path, name), path),
                                        LibrarySearch::fuller));
                    }
                }
            }
        }
        return List.copyOf(found.values());
    }

    private static FoundLibrary fuller(FoundLibrary a, FoundLibrary b) {
        return b.version().length() > a.version().length() ? b : a;
    }

    /** Folders with libraries that are there, in the order of the loader, links resolved, each once. */
    static List<String> folders(FileTree files, Map<String, String> environment) {
        List<String> wanted = new ArrayList<>();
        Arrays.stream(environment.getOrDefault("LD_LIBRARY_PATH", "").split(":", -1))
                .filter(path -> path.startsWith("/"))
                .forEach(wanted::add);
        for (String name : files.list("/etc/ld.so.conf.d")) {
            files.text("/etc/ld.so.conf.d/" + name)
                    .orElse("")
                    .lines()
                    .map(String::strip)
                    .filter(line -> line.startsWith("/"))
                    .forEach(wanted::add);
        }
        wanted.addAll(STANDARD);
        for (String name : files.list("/usr/local")) {
            if (name.startsWith("cuda")) {
                wanted.add("/usr/local/" + name + "/lib64");
            }
        }
        for (String name : files.list("/opt")) {
            if (name.startsWith("rocm")) {
                wanted.add("/opt/" + name + "/lib");
            }
        }
        for (String site : sites(files, environment)) {
            for (String name : files.list(site + "/nvidia")) {
                wanted.add(site + "/nvidia/" + name + "/lib");
            }
            wanted.add(site + "/_rocm_sdk_core/lib");
        }
        Set<String> real = new LinkedHashSet<>();
        wanted.forEach(folder -> files.real(folder).ifPresent(real::add));
        return List.copyOf(real);
    }

    private static List<String> sites(FileTree files, Map<String, String> environment) {
        List<String> all = new ArrayList<>();
        List<String> roots = new ArrayList<>(List.of("/usr", "/usr/local"));
        for (String variable : List.of("VIRTUAL_ENV", "CONDA_PREFIX")) {
            String root = environment.getOrDefault(variable, "");
            if (root.startsWith("/")) {
                roots.add(root);
            }
        }
        for (String root : roots) {
            for (String name : files.list(root + "/lib")) {
                if (name.startsWith("python3")) {
                    all.add(root + "/lib/" + name + "/site-packages");
                    all.add(root + "/lib/" + name + "/dist-packages");
                }
            }
        }
        Arrays.stream(environment.getOrDefault("PYTHONPATH", "").split(":", -1))
                .filter(path -> path.startsWith("/"))
                .forEach(all::add);
        return all;
    }

    private static String version(FileTree files, KnownLibrary library, String folder, String path, String name) {
        String fromName = digits(library, path.substring(path.lastIndexOf('/') + 1));
        String longer = digits(library, name).length() > fromName.length() ? digits(library, name) : fromName;
        if (longer.indexOf('.') >= 0) {
            return longer;
        }
        return fromPackage(files, library, folder)
                .or(() -> fromRocm(files, folder))
                .orElse("");
    }

    /** What follows {@code libX.so.}, when it is a version. */
    private static String digits(KnownLibrary library, String name) {
        String rest = name.length() > library.file().length()
                ? name.substring(library.file().length() + 1)
                : "";
        return rest.matches("[0-9]+(\\.[0-9]+)*") ? rest : "";
    }

    private static Optional<String> fromPackage(FileTree files, KnownLibrary library, String folder) {
        int site = folder.indexOf("-packages/");
        if (site < 0 || library.pythonPackage().isEmpty()) {
            return Optional.empty();
        }
        return files.list(folder.substring(0, site + "-packages".length())).stream()
                .map(PACKAGE::matcher)
                .filter(Matcher::matches)
                .filter(match -> match.group(1).replace('-', '_').startsWith(library.pythonPackage()))
                .map(match -> match.group(2))
                .findFirst();
    }

    private static Optional<String> fromRocm(FileTree files, String folder) {
        return folder.startsWith("/opt/rocm")
                ? files.text(folder + "/../.info/version").map(text -> text.replaceFirst("[^0-9.].*", ""))
                : Optional.empty();
    }
}
