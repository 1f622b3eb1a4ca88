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
 * A library that was found.
 *
 * @param library which
 * @param version digits with dots, as its file or package says; empty when neither says
 * @param path its file, links resolved
 */
public record FoundLibrary(KnownLibrary library, String version, String path) {
    private static final Pattern PACKAGE = Pattern.compile("(.+)-([0-9][0-9.]*).*\\.dist-info");

    /**
     * Finds all known libraries in {@link LibraryFolders}; a file that several links lead to is returned once, under its real
     * path. Versions come from file names, from the package's metadata folder ({@code nvidia_nccl_cu12-2.27.3.dist-info}), and
     * from ROCm's {@code .info/version}.
     */
    public static List<FoundLibrary> search(FileTree files, Map<String, String> environment) {
        return search(files, LibraryFolders.existing(files, environment));
    }

    /** Finds the libraries in the given folders, each file once, links resolved. */
    static List<FoundLibrary> search(FileTree files, List<String> folders) {
        Map<String, FoundLibrary> found = new LinkedHashMap<>();
        for (String folder : folders) {
            for (String name : files.list(folder)) {
                for (KnownLibrary library : KnownLibrary.values()) {
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

    /** The rest of a name behind {@code libX.so.}, if it is a version. */
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

    /** Its version as numbers; {@link Version#UNKNOWN} when none is known. */
    Version number() {
        return Version.parse(version);
    }

    @Override
    public String toString() {
        return (version.isEmpty() ? "unknown version" : version) + " (" + path + ")";
    }
}
