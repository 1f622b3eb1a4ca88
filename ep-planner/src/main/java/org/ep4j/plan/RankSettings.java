package org.ep4j.plan;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;

/** Settings in the profile of a rank: settings that all ranks must share, and settings of the rank's own NICs. */
public final class RankSettings {
    /** Behind the name of a setting: the variable of other software that gave its value. */
    private static final String VARIABLE = "@variable";

    /** Settings that limit what a rank has in flight on a NIC. */
    public static final List<ConfigKey<?>> INFLIGHT =
            List.of(EpKeys.NIC_INFLIGHT_BYTES, EpKeys.NIC_INFLIGHT_WRITES, EpKeys.NIC_INFLIGHT_MESSAGES);

    private RankSettings() {}

    /**
     * Name of an additional entry in a rank's settings: this entry names the variable of other software from which
     * {@code key} got its value.
     */
    public static String variableOf(ConfigKey<?> key) {
        return key.name() + VARIABLE;
    }

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
                Setting value = key.setting(config);
                settings.put(key.name(), value.text());
                if (own
                        && value.origin() == Origin.ENVIRONMENT
                        && !value.source().equals(key.environmentName())) {
                    settings.put(variableOf(key), value.source());
                }
            }
        }
        return Collections.unmodifiableMap(settings);
    }

    /** The limits of what a rank has in flight, of its settings. */
    static Map<String, String> inflight(Map<String, String> settings) {
        Map<String, String> own = new TreeMap<>();
        INFLIGHT.forEach(key -> {
            String value = settings.get(key.name());
            if (value != null) {
                own.put(key.name(), value);
            }
        });
        return own;
    }

    /** Returns true for a setting of a rank's own NICs, which may differ between ranks. */
    public static boolean isOwn(String name) {
        return NicChoice.KEYS.stream().anyMatch(key -> name.equals(key.name()) || name.equals(variableOf(key)));
    }
}
