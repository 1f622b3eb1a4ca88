package org.ep4j.plan;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.config.NicListException;
import org.ep4j.config.NicMap;
import org.ep4j.config.NicPattern;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;

/**
 * NICs that the user of one rank maps, includes and excludes. Hosts differ, so every rank's own choice travels in its
 * profile and is applied to that rank.
 *
 * @param map value of {@link EpKeys#NIC_MAP}; empty for none
 * @param include value of {@link EpKeys#NIC_INCLUDE}; empty for all
 * @param exclude value of {@link EpKeys#NIC_EXCLUDE}; empty for none
 * @param variables by the names of these settings, variables of other software that gave their values
 */
public record NicChoice(String map, String include, String exclude, Map<String, String> variables) {
    /** Every NIC may be used, and the planner assigns them. */
    public static final NicChoice AUTO = new NicChoice("", "", "");

    /**
     * NIC settings that a rank sends to the other ranks in {@link RankProfile#settings()}; they may differ between
     * ranks.
     */
    public static final List<ConfigKey<?>> KEYS = List.of(
            EpKeys.NIC_MAP,
            EpKeys.NIC_INCLUDE,
            EpKeys.NIC_EXCLUDE,
            EpKeys.NIC_GID_INDEX,
            EpKeys.NIC_INFLIGHT_BYTES,
            EpKeys.NIC_INFLIGHT_WRITES,
            EpKeys.NIC_INFLIGHT_MESSAGES,
            EpKeys.GPU_WINDOW);

    /**
     * Checks that the map and both lists can be read.
     *
     * @throws EpConfigException naming what is malformed
     */
    public NicChoice {
        check(EpKeys.NIC_MAP, map, NicMap::parse);
        check(EpKeys.NIC_INCLUDE, include, NicPattern::parse);
        check(EpKeys.NIC_EXCLUDE, exclude, NicPattern::parseExcluded);
        // Sorted, so that equal choices have equal texts in all processes.
        variables = Collections.unmodifiableMap(new TreeMap<>(variables));
    }

    /** Creates a choice from values of ep4j's own settings, none of them taken from a variable of other software. */
    public NicChoice(String map, String include, String exclude) {
        this(map, include, exclude, Map.of());
    }

    private static void check(ConfigKey<String> key, String value, Consumer<String> parser) {
        try {
            parser.accept(value);
        } catch (NicListException e) {
            throw new EpConfigException(key.name() + " is \"" + value + "\": " + e.getMessage(), e);
        }
    }

    /**
     * Reads {@link EpKeys#NIC_MAP}, {@link EpKeys#NIC_INCLUDE} and {@link EpKeys#NIC_EXCLUDE}.
     *
     * @throws EpConfigException naming what is malformed, and the variable that it is from
     */
    public static NicChoice from(EpConfig config) {
        EpKeys.NIC_MAP.get(config);
        EpKeys.NIC_INCLUDE.get(config);
        EpKeys.NIC_EXCLUDE.get(config);
        return of(Settings.ofRank(config, KEYS));
    }

    private static NicChoice of(Map<String, String> settings) {
        Map<String, String> variables = new TreeMap<>();
        KEYS.forEach(key -> Optional.ofNullable(settings.get(Settings.variableOf(key)))
                .ifPresent(variable -> variables.put(key.name(), variable)));
        return new NicChoice(
                settings.getOrDefault(EpKeys.NIC_MAP.name(), ""),
                settings.getOrDefault(EpKeys.NIC_INCLUDE.name(), ""),
                settings.getOrDefault(EpKeys.NIC_EXCLUDE.name(), ""),
                variables);
    }

    /**
     * Returns a copy of {@code locality} with only the NICs and ports that this choice allows for {@code device};
     * without NICs if the choice leaves none.
     *
     * @param locality all that is there
     * @param device of the rank
     */
    public Locality narrow(Locality locality, Device device) {
        return new NicSelection(this, locality, NicSelection.gpu(locality, device)).locality();
    }

    /** The settings that are set, with their values, for messages. */
    public String settings() {
        return Stream.of(set(EpKeys.NIC_MAP, map), set(EpKeys.NIC_INCLUDE, include), set(EpKeys.NIC_EXCLUDE, exclude))
                .flatMap(Optional::stream)
                .collect(Collectors.joining(", "));
    }

    private Optional<String> set(ConfigKey<String> key, String value) {
        return value.isBlank() ? Optional.empty() : Optional.of(says(key, value));
    }

    /** A setting with its value, by the name that the user gave it, for messages. */
    String says(ConfigKey<String> key, String value) {
        String variable = variables.get(key.name());
        return variable == null
                ? key.name() + " = " + value
                : variable + " = " + value + " (read as " + key.name() + ")";
    }

    /** Returns the choice that a rank reported, or {@code otherwise} when it reported none. */
    static NicChoice of(RankProfile profile, NicChoice otherwise) {
        try {
            NicChoice choice = of(profile.settings());
            return choice.settings().isEmpty() ? otherwise : choice;
        } catch (EpConfigException e) {
            throw new EpConfigException(profile.label() + ": " + e.getMessage(), e);
        }
    }
}
