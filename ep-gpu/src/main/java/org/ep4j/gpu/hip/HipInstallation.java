package org.ep4j.gpu.hip;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.EpUnavailableException;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LibraryFolders;

/**
 * An installed HIP.
 *
 * @param runtime the library {@code libamdhip64.so.*}
 * @param compiler the library with HIPRTC: {@code libhiprtc.so.*} of the same version beside it, else the runtime, which has it
 *     too in ROCm 5
 */
record HipInstallation(Path runtime, Path compiler) {
    /** Environment variable that names the runtime's library or its folder. */
    static final String VARIABLE = "EP_HIP_RUNTIME";

    /** Newest first; the names without a number are those of development packages and of Python packages. */
    private static final List<String> NUMBERS = List.of(".7", ".6", ".5", "");

    /**
     * Finds the one that the environment names, else the newest in the first folder that has any.
     *
     * @param root {@code /}, or a folder in its place
     * @throws EpUnavailableException when there is none, with the folders that were searched
     */
    static HipInstallation find(Map<String, String> environment, Path root) {
        FileTree files = FileTree.of(root);
        return installed(environment, root)
                .orElseThrow(
                        () -> new EpUnavailableException("AMD's HIP runtime libamdhip64.so was not found, looked in "
                                + LibraryFolders.searched(files, environment) + "; install ROCm " + HipVersion.OLDEST
                                + " or newer, or set " + VARIABLE + " to libamdhip64.so or its folder"));
    }

    /** As {@link #find}, but empty without HIP; throws only if the environment names one that does not exist. */
    static Optional<HipInstallation> installed(Map<String, String> environment, Path root) {
        String named = environment.getOrDefault(VARIABLE, "");
        if (!named.isBlank()) {
            Path path = Path.of(named).toAbsolutePath();
            Optional<HipInstallation> found = Files.isDirectory(path)
                    ? in(path)
                    : Optional.of(path).filter(Files::isRegularFile).map(HipInstallation::of);
            return Optional.of(found.orElseThrow(() -> new EpUnavailableException(VARIABLE + " is " + named
                    + ", which is neither a file nor a folder that contains libamdhip64.so;"
                    + " correct or unset this variable")));
        }
        return LibraryFolders.existing(FileTree.of(root), environment).stream()
                .flatMap(folder -> in(root.resolve(folder.substring(1))).stream())
                .findFirst();
    }

    private static Optional<HipInstallation> in(Path folder) {
        return NUMBERS.stream()
                .map(number -> folder.resolve("libamdhip64.so" + number))
                .filter(Files::isRegularFile)
                .findFirst()
                .map(HipInstallation::of);
    }

    private static HipInstallation of(Path runtime) {
        Path folder = Optional.ofNullable(runtime.getParent()).orElse(runtime);
        Optional<Integer> major = HipVersion.of(real(runtime)).map(HipVersion::major);
        Path compiler = NUMBERS.stream()
                .map(number -> folder.resolve("libhiprtc.so" + number))
                .filter(Files::isRegularFile)
                .filter(file -> major.isEmpty()
                        || HipVersion.of(real(file)).map(HipVersion::major).equals(major))
                .findFirst()
                .orElse(runtime);
        return new HipInstallation(runtime, compiler);
    }

    /** Version of HIPRTC by its file's name; the library itself reports the same number in all versions. */
    Optional<HipVersion> compilerVersion() {
        return HipVersion.of(real(compiler));
    }

    private static Path real(Path file) {
        try {
            return file.toRealPath();
        } catch (IOException e) {
            return file;
        }
    }

    /** Version of HIP, whose first two numbers are ROCm's. */
    record HipVersion(int major, int minor) {
        /** The oldest supported version: the first with gfx942 in HIPRTC and all calls of {@link HipRuntime}. */
        static final HipVersion OLDEST = new HipVersion(5, 7);

        /** {@code libhiprtc.so.6.4.60402}: ROCm names libraries by their version, and links to them. */
        private static final Pattern NAME = Pattern.compile(".*\\.so\\.(\\d{1,4})(?:\\.(\\d{1,4}))?(?:\\..*)?");

        /** Decodes {@code HIP_VERSION} of {@code hip_version.h}: 10000000 * major + 100000 * minor + patch. */
        static HipVersion of(int number) {
            return new HipVersion(number / 10_000_000, number / 100_000 % 100);
        }

        /** Reads the version in the name of a library's real file; empty if it has none. */
        static Optional<HipVersion> of(Path file) {
            Matcher name = NAME.matcher(String.valueOf(file.getFileName()));
            return name.matches()
                    ? Optional.of(new HipVersion(
                            Integer.parseInt(name.group(1)),
                            name.group(2) == null ? 0 : Integer.parseInt(name.group(2))))
                    : Optional.empty();
        }

        boolean isAtLeast(HipVersion other) {
            return major > other.major || (major == other.major && minor >= other.minor);
        }

        @Override
        public String toString() {
            return major + "." + minor;
        }
    }
}
