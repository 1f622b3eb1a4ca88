package org.ep4j.plan;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.Device;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.topology.Locality;

/**
 * What the user of one rank wants of NICs. Hosts differ, so every rank's own wishes travel in its profile and are applied
 * to that rank.
 *
 * @param map value of {@link EpKeys#NIC_MAP}; empty for none
 * @param include value of {@link EpKeys#NIC_INCLUDE}; empty for all
 * @param exclude value of {@link EpKeys#NIC_EXCLUDE}; empty for none
 */
public record NicChoice(String map, String include, String exclude) {
    /** Every NIC may be used, and the planner assigns them. */
    public static final NicChoice AUTO = new NicChoice("", "", "");

    /** Settings of NICs that travel in {@link RankProfile#settings()} and may differ between ranks. */
    public static final List<ConfigKey<?>> KEYS =
            List.of(EpKeys.NIC_MAP, EpKeys.NIC_INCLUDE, EpKeys.NIC_EXCLUDE, EpKeys.NIC_GID_INDEX);

    /**
     * Checks that all three can be read.
     *
     * @throws EpConfigException naming what is malformed
     */
    public NicChoice {
        NicMap.parse(map);
        NicPattern.parse(EpKeys.NIC_INCLUDE.name(), include);
        if (NicPattern.parse(EpKeys.NIC_EXCLUDE.name(), exclude).negated()) {
            throw new EpConfigException(EpKeys.NIC_EXCLUDE.name() + " is \"" + exclude
                    + "\", which excludes all NICs but these; write them as " + EpKeys.NIC_INCLUDE.name()
                    + " without ^");
        }
    }

    /** Reads the three settings. */
    public static NicChoice from(EpConfig config) {
        return new NicChoice(
                config.get(EpKeys.NIC_MAP), config.get(EpKeys.NIC_INCLUDE), config.get(EpKeys.NIC_EXCLUDE));
    }

    /**
     * The machine around a device, with the NICs and ports that a rank on it may use; none where nothing is left.
     *
     * @param locality all that is there
     * @param device of the rank
     */
    public Locality narrow(Locality locality, Device device) {
        return NicWishes.of(this, NicRules.gpu(locality, device)).narrow(locality);
    }

    /** The settings that are set, with their values, for messages. */
    public String settings() {
        List<String> set = new ArrayList<>();
        if (!map.isBlank()) {
            set.add(EpKeys.NIC_MAP.name() + " = " + map);
        }
        if (!include.isBlank()) {
            set.add(EpKeys.NIC_INCLUDE.name() + " = " + include);
        }
        if (!exclude.isBlank()) {
            set.add(EpKeys.NIC_EXCLUDE.name() + " = " + exclude);
        }
        return String.join(", ", set);
    }

    /** What a rank reported, or {@code otherwise} when it reported no wish. */
    static NicChoice of(RankProfile profile, NicChoice otherwise) {
        String map = setting(profile, EpKeys.NIC_MAP);
        String include = setting(profile, EpKeys.NIC_INCLUDE);
        String exclude = setting(profile, EpKeys.NIC_EXCLUDE);
        if (map.isBlank() && include.isBlank() && exclude.isBlank()) {
            return otherwise;
        }
        try {
            return new NicChoice(map, include, exclude);
        } catch (EpConfigException e) {
            throw new EpConfigException(profile.label() + ": " + e.getMessage(), e);
        }
    }

    private static String setting(RankProfile profile, ConfigKey<?> key) {
        return profile.settings().getOrDefault(key.name(), "");
    }
}
