package org.ep4j.plan;

import com.google.common.base.Splitter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;

/**
 * Backends that the user requires, prefers and excludes.
 *
 * @param require when not empty, nothing else is used and nothing falls back
 * @param prefer used in this order where they have a path
 * @param exclude never used
 */
public record BackendChoice(List<String> require, List<String> prefer, List<String> exclude) {
    /** No choice of the user: the planner compares all backends. */
    public static final BackendChoice AUTO = new BackendChoice(List.of(), List.of(), List.of());

    public BackendChoice {
        require = List.copyOf(require);
        prefer = List.copyOf(prefer);
        exclude = List.copyOf(exclude);
    }

    /** Reads {@link EpKeys#BACKEND_REQUIRE}, {@link EpKeys#BACKEND_PREFER} and {@link EpKeys#BACKEND_EXCLUDE}. */
    public static BackendChoice from(EpConfig config) {
        return new BackendChoice(
                split(EpKeys.BACKEND_REQUIRE.get(config)),
                split(EpKeys.BACKEND_PREFER.get(config)),
                split(EpKeys.BACKEND_EXCLUDE.get(config)));
    }

    /** Returns why a backend may not be used; empty when it may. */
    public Optional<String> refuses(String id) {
        if (exclude.contains(id)) {
            return Optional.of("excluded by " + EpKeys.BACKEND_EXCLUDE.name());
        }
        if (!require.isEmpty() && !require.contains(id)) {
            return Optional.of("not among " + EpKeys.BACKEND_REQUIRE.name() + " = " + String.join(",", require));
        }
        return Optional.empty();
    }

    /** Position in the order of preference; a lower number goes first. */
    public int preference(String id) {
        int index = prefer.indexOf(id);
        return index < 0 ? prefer.size() : index;
    }

    /** Returns true if a backend is required or preferred. */
    public boolean names(String id) {
        return require.contains(id) || prefer.contains(id);
    }

    /** Refuses names of backends that are not known. */
    void checkNames(List<String> known) {
        List<String> unknown = new ArrayList<>(require);
        unknown.addAll(prefer);
        unknown.removeAll(known);
        if (!unknown.isEmpty()) {
            throw new EpUnavailableException("backend " + String.join(", ", unknown)
                    + " is not on the class path, which has: " + (known.isEmpty() ? "none" : String.join(", ", known))
                    + "; add its artifact, and if jars are merged, keep META-INF/services");
        }
    }

    private static List<String> split(String text) {
        return Splitter.on(',').trimResults().omitEmptyStrings().splitToList(text);
    }
}
