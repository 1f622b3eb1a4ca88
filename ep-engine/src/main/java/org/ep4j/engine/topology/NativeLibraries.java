package org.ep4j.engine.topology;

import com.sun.jna.Library;
import com.sun.jna.NativeLibrary;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Finds libraries of drivers. */
public final class NativeLibraries {
    /** Where drivers and container runtimes put them. */
    private static final List<String> FOLDERS = List.of(
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/usr/lib64",
            "/usr/lib",
            "/usr/local/nvidia/lib64",
            "/run/opengl-driver/lib",
            "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
            "/usr/lib/wsl/lib",
            "/opt/rocm/lib");

    /**
     * {@code RTLD_LAZY | RTLD_GLOBAL | RTLD_NODELETE}. NVML opens descriptors when it is first used and closes them never, so one
     * that is unloaded, as JNA does with a library that nobody refers to, and loaded again leaves them behind.
     */
    private static final int STAYS_LOADED = 0x1 | 0x100 | 0x1000;

    private NativeLibraries() {}

    /**
     * Loads the first that is there: by absolute path in the folders of {@code LD_LIBRARY_PATH} and the usual ones, then
     * wherever the system's loader finds it.
     *
     * @param names file names, best first
     * @return empty when none of them can be loaded
     */
    public static Optional<NativeLibrary> load(List<String> names) {
        Set<String> folders = new LinkedHashSet<>();
        String path = Optional.ofNullable(System.getenv("LD_LIBRARY_PATH")).orElse("");
        for (String folder : path.split(":", -1)) {
            if (folder.startsWith("/")) {
                folders.add(folder);
            }
        }
        folders.addAll(FOLDERS);
        List<String> candidates = new ArrayList<>();
        for (String folder : folders) {
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
            return Optional.of(NativeLibrary.getInstance(name, Map.of(Library.OPTION_OPEN_FLAGS, STAYS_LOADED)));
        } catch (LinkageError e) {
            // Not there, or for another machine: the next one.
            return Optional.empty();
        }
    }
}
