package org.ep4j.plan;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpConfig.Origin;
import org.ep4j.config.EpConfig.Resolved;

/** Settings as the profile of a rank carries them: those that all ranks must share, and those of the rank's own NICs. */
public final class RankSettings {
    /** Behind the name of a setting: the variable of other software that gave its value. */
    static final String VARIABLE = "@variable";

    private RankSettings() {}

    /**
     * Settings of a rank, by name.
     *
     * @param keys every key that ep4j and its backends have
     */
    public static Map<String, String> of(EpConfig config, List<ConfigKey<?>> keys) {
        Map<String, String> settings = new TreeMap<>();
        for (ConfigKey<?> key : keys) {
            boolean own = NicChoice.KEYS.contains(key);
            if (key.agreed() || own) {
                Resolved value = config.resolve(key);
                settings.put(key.name(), value.text());
                if (own
                        && value.origin() == Origin.ENVIRONMENT
                        && !value.source().equals(key.environmentName())) {
                    settings.put(key.name() + VARIABLE, value.source());
                }
            }
        }
        return Collections.unmodifiableMap(settings);
    }

    /** True for a setting of a rank's own NICs, which may differ between ranks. */
    public static boolean isOwn(String name) {
        return NicChoice.KEYS.stream().anyMatch(key -> name.equals(key.name()) || name.equals(key.name() + VARIABLE));
    }
}
