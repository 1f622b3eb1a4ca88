package org.ep4j.transport;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Folder for what takes long to make: compiled kernels, and the settings that {@code ./ep tune} has measured. An environment variable
 * whose value this system cannot use as a path names no folder: a warning in the log says so, and nothing is kept.
 */
public final class CacheFolder {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final String OWN = "EP_CACHE_DIR";
    private static final String SHARED = "XDG_CACHE_HOME";
    private static final String HOME = "HOME";

    private CacheFolder() {}

    /**
     * The folder {@code EP_CACHE_DIR}, else {@code ep4j} in {@code XDG_CACHE_HOME}, else {@code ~/.cache/ep4j}; empty if the
     * environment has none of {@code EP_CACHE_DIR}, {@code XDG_CACHE_HOME} and {@code HOME}, or if the first of them that it has
     * is not a path. The folder need not exist.
     */
    public static Optional<Path> of(Map<String, String> environment) {
        if (isSet(OWN, environment)) {
            return path(OWN, environment);
        }
        if (isSet(SHARED, environment)) {
            return path(SHARED, environment, "ep4j");
        }
        return isSet(HOME, environment) ? path(HOME, environment, ".cache", "ep4j") : Optional.empty();
    }

    private static boolean isSet(String variable, Map<String, String> environment) {
        return !environment.getOrDefault(variable, "").isBlank();
    }

    private static Optional<Path> path(String variable, Map<String, String> environment, String... below) {
        String value = environment.getOrDefault(variable, "");
        try {
            return Optional.of(Path.of(value, below));
        } catch (InvalidPathException e) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "there is no cache folder: " + variable + " is \"" + value + "\", must be a path (" + e.getReason()
                            + "); set EP_CACHE_DIR to a folder");
            return Optional.empty();
        }
    }
}
