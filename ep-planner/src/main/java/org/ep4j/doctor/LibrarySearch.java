package org.ep4j.doctor;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LibraryFolders;

/**
 * Looks for {@link KnownLibrary}s in {@link LibraryFolders}. Versions come from file names, from the
 * name of the package's folder of facts ({@code nvidia_nccl_cu12-2.27.3.dist-info}), and from ROCm's {@code .info/version}.
 */
public final class LibrarySearch {
    private static final Pattern PACKAGE = Pattern.compile("(.+)-([0-9][0-9.]*).*\\.dist-info");

    private LibrarySearch() {}

    /** Finds all known libraries; a file that several links lead to is returned once, under its real path. */
    public static List<FoundLibrary> in(FileTree files, Map<String, String> environment) {
        return in(files, LibraryFolders.existing(files, environment));
    }

    /** Finds the libraries in the given folders, each file once, links resolved. */
    static List<FoundLibrary> in(FileTree files, List<String> folders) {
        Map<String, FoundLibrary> found = new LinkedHashMap<>();
        for (String folder : folders) {
            for (String name : files.list(folder)) {
                for (KnownLibrary library : KnownLibrary.all()) {
                    if (name.equals(library.file()) || name.startsWith(library.file() + ".")) {
                        files.real(folder + "/" + name)
                                .ifPresent(path -> found.merge(
                                        path,
                                        new FoundLibrary(library, version(files, library, folder, path, name), path),
                                        (a, b) -> b.version().length()
                                                        > a.version().length()
                                                ? b
                                                : a));
                    }
                }
            }
        }
        return List.copyOf(found.values());
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
