package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;

/** Checks and lists the settings of a configuration, and selects those that a rank sends to the others in its profile. */
public final class Settings {
    private static final String PREFIX = "EP_";

    /** Read by ep4j, its scripts or its tests, and no settings: {@code -Dep.NAME} does not replace them. */
    private static final Set<String> READ = Set.of(
            "EP_CACHE_DIR",
            "EP_CUDA_DRIVER",
            "EP_HIP_HEADERS",
            "EP_HIP_RUNTIME",
            "EP_JAVA",
            "EP_JAVA_OPTS",
            "EP_MAVEN_OPTS",
            "EP_NVJITLINK",
            "EP_NVRTC",
            "EP_REQUIRE_COMPILERS",
            "EP_REQUIRE_EMULATOR",
            "EP_REQUIRE_HIP_HEADERS",
            "EP_REQUIRE_MPI",
            "EP_REQUIRE_VERBS",
            "EP_STEPS",
            "EP_TCK_PATIENCE",
            "EP_TCK_REQUIRE",
            "EP_TCK_RESET_PORT",
            "EP_TEST_EMULATED");

    /** Variables of DeepEP, beside which ep4j may be used. */
    private static final Set<String> OF_DEEPEP = Set.of(
            "EP_BUFFER_DEBUG", "EP_DISABLE_GIN", "EP_NUM_TOPK_IDX_BITS", "EP_NVSHMEM_ROOT_DIR", "EP_OVERRIDE_RDMA_SL");

    /** Prefix of many more variables of DeepEP. */
    private static final String OF_DEEPEPS_COMPILER = "EP_JIT_";

    /** Behind the name of a setting: the variable of other software that gave its value. */
    private static final String VARIABLE = "@variable";

    /** Settings that limit what a rank has in flight on a NIC. */
    public static final List<ConfigKey<?>> INFLIGHT =
            List.of(EpKeys.NIC_INFLIGHT_BYTES, EpKeys.NIC_INFLIGHT_WRITES, EpKeys.NIC_INFLIGHT_MESSAGES);

    private Settings() {}

    /**
     * Refuses unknown names and malformed values.
     *
     * @param known all declared keys
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
     * @param keys all declared keys
     */
    public static List<String> unknownVariables(EpConfig config, List<ConfigKey<?>> keys) {
        Set<String> known = new TreeSet<>(READ);
        for (ConfigKey<?> key : keys) {
            known.add(key.environmentName());
            key.variables().stream().filter(name -> name.startsWith(PREFIX)).forEach(known::add);
        }
        return config.names(Origin.ENVIRONMENT).stream()
                .filter(name -> name.startsWith(PREFIX)
                        && !known.contains(name)
                        && !OF_DEEPEP.contains(name)
                        && !name.startsWith(OF_DEEPEPS_COMPILER))
                .sorted()
                .map(name -> name + " is no setting of ep4j; the nearest known one is " + NearestName.of(name, known))
                .toList();
    }

    /**
     * Returns the settings in a rank's profile, by name: those that all ranks must share, and those of the rank's own NICs.
     *
     * @param keys every key that ep4j and its backends have
     */
    public static Map<String, String> ofRank(EpConfig config, List<ConfigKey<?>> keys) {
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

    /** Returns true for a setting of a rank's own NICs, which may differ between ranks. */
    public static boolean isOwn(String name) {
        return NicChoice.KEYS.stream().anyMatch(key -> name.equals(key.name()) || name.equals(variableOf(key)));
    }

    /**
     * Name of an additional entry in a rank's settings: this entry names the variable of other software from which
     * {@code key} got its value.
     */
    public static String variableOf(ConfigKey<?> key) {
        return key.name() + VARIABLE;
    }
}
