package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;

/** Checks and lists the settings of a configuration, against every key that somebody declared. */
public final class Settings {
    private Settings() {}

    /**
     * Refuses unknown names and malformed values.
     *
     * @param known every key that somebody declared
     * @throws EpConfigException naming every offender, each with the nearest known key
     */
    public static void check(EpConfig config, List<ConfigKey<?>> known) {
        Map<String, ConfigKey<?>> byName = new TreeMap<>();
        known.forEach(key -> byName.put(key.name(), key));
        List<String> problems = new ArrayList<>();
        Map<String, Origin> names = new LinkedHashMap<>();
        for (Origin origin : List.of(Origin.BUILDER, Origin.SYSTEM_PROPERTY)) {
            config.names(origin).forEach(name -> names.putIfAbsent(name, origin));
        }
        names.forEach((name, origin) -> {
            if (!byName.containsKey(name)) {
                problems.add("unknown key " + name + " (from " + origin + "); the nearest known one is "
                        + NearestName.of(name, byName.keySet()));
            }
        });
        for (ConfigKey<?> key : byName.values()) {
            try {
                key.get(config);
            } catch (EpConfigException e) {
                problems.add(String.valueOf(e.getMessage()));
            }
        }
        if (!problems.isEmpty()) {
            throw new EpConfigException(String.join("\n", problems));
        }
    }

    /** Every key with its value and origin, by name, for people to read: values of keys named {@code *.secret} are hidden. */
    public static List<Setting> resolveAll(EpConfig config, List<ConfigKey<?>> keys) {
        return keys.stream()
                .map(key -> key.setting(config).shown())
                .sorted(Comparator.comparing(Setting::name))
                .toList();
    }

    /**
     * A sentence for each unknown environment variable whose name begins with {@code EP_}, with the nearest known name.
     * {@link #check} ignores these variables, since other software uses such names too.
     *
     * @param known every key that somebody declared
     */
    public static List<String> unknownVariables(EpConfig config, List<ConfigKey<?>> known) {
        return EpVariables.unknown(config.names(Origin.ENVIRONMENT), known);
    }
}
