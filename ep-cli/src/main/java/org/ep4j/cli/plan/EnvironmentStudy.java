package org.ep4j.cli.plan;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpConfigException;
import org.ep4j.cli.plan.EnvironmentVariable.Effect;
import org.ep4j.config.ConfigKey;
import org.ep4j.plan.NearestName;
import org.ep4j.plan.Settings;
import tools.jackson.databind.json.JsonMapper;

/** Explains the variables of a script that was written for another system. */
final class EnvironmentStudy {
    /** Beginnings of the names that are explained, and whose they are. */
    private static final Map<String, String> FAMILIES = new TreeMap<>(Map.of(
            "EP_", "ep4j",
            "DEEP_EP_", "DeepEP",
            "MSCCLPP_EP_", "MSCCL++",
            "NCCL_", "NCCL",
            "NVSHMEM_", "NVSHMEM",
            "UCCL_", "UCCL"));

    private static final String HIDDEN = "(not shown)";
    private static final Pattern SECRET =
            Pattern.compile("(?:.*_)?(?:SECRET|PASSWORD|PASSWD|CREDENTIALS?|TOKEN|KEY)(?:_.*)?|EP_JAVA_OPTS");

    /** Most edits between a name and the one that was probably meant: INDEX and IDX are two apart. */
    private static final int EDITS = 2;

    private final EpConfig config;
    private final List<ConfigKey<?>> keys;
    private final KnownVariables known = KnownVariables.read();

    private EnvironmentStudy(EpConfig config, List<ConfigKey<?>> keys) {
        this.config = config;
        this.keys = keys;
    }

    /** How the names begin that are explained. */
    static String beginnings() {
        return String.join(", ", FAMILIES.keySet());
    }

    /**
     * Explains every variable that has the name of a family or that a setting reads, by name.
     *
     * @param environment variables
     * @param config settings as they count, with these variables
     * @param keys every setting
     */
    static List<EnvironmentVariable> of(Map<String, String> environment, EpConfig config, List<ConfigKey<?>> keys) {
        EnvironmentStudy study = new EnvironmentStudy(config, keys);
        List<EnvironmentVariable> all = new ArrayList<>();
        new TreeMap<>(environment).forEach((name, value) -> {
            List<ConfigKey<?>> readers =
                    keys.stream().filter(key -> reads(key, name)).toList();
            readers.forEach(key -> all.add(study.read(name, value, key)));
            if (readers.isEmpty() && family(name).isPresent()) {
                all.add(study.unread(name, value));
            }
        });
        return List.copyOf(all);
    }

    private static boolean reads(ConfigKey<?> key, String name) {
        return key.environmentName().equals(name) || key.variables().contains(name);
    }

    private static Optional<String> family(String name) {
        return FAMILIES.keySet().stream().filter(name::startsWith).findFirst();
    }

    private EnvironmentVariable read(String name, String value, ConfigKey<?> key) {
        Setting counts = key.setting(config);
        String shown = isSecret(key.environmentName()) || isSecret(name) ? HIDDEN : value;
        String setting = key.name() + " = " + counts.shown().text();
        if (value.isBlank() && !name.equals(key.environmentName())) {
            return new EnvironmentVariable(
                    name, shown, Effect.NONE, key.name(), "no effect: it is empty; " + setting + source(counts));
        }
        if (!counts.source().equals(name)) {
            return new EnvironmentVariable(
                    name,
                    shown,
                    Effect.OVERRIDDEN,
                    key.name(),
                    "does not count: " + setting + source(counts) + " does");
        }
        try {
            key.get(config);
            return new EnvironmentVariable(name, shown, Effect.SETS, key.name(), "-> " + setting);
        } catch (EpConfigException e) {
            return new EnvironmentVariable(
                    name, shown, Effect.REFUSED, key.name(), "refused: " + String.valueOf(e.getMessage()));
        }
    }

    private static String source(Setting counts) {
        return counts.origin() == Origin.DEFAULT
                ? " by default"
                : counts.origin() == Origin.BUILDER
                        ? " from an option of this command"
                        : " from " + (counts.origin() == Origin.SYSTEM_PROPERTY ? "-D" : "") + counts.source();
    }

    private EnvironmentVariable unread(String name, String value) {
        Optional<KnownVariables.Entry> entry = known.named(name);
        if (entry.isEmpty()) {
            Optional<EnvironmentVariable> unknown = name.startsWith("EP_") ? unknownHere(name) : misspelt(name, value);
            if (unknown.isPresent()) {
                return unknown.get();
            }
            entry = known.beginning(name);
        }
        String shown = isSecret(name) ? HIDDEN : value;
        return entry.map(found -> new EnvironmentVariable(
                        name,
                        shown,
                        found.effect(),
                        "",
                        (found.effect() == Effect.NONE ? "no effect: " : "") + found.meaning()))
                .orElseGet(() -> new EnvironmentVariable(
                        name,
                        shown,
                        Effect.UNKNOWN,
                        "",
                        "no effect: not a setting of " + owner(name) + " that ep4j knows"));
    }

    /** Hides the value: the name may be a misspelt setting, and the value a secret. */
    private Optional<EnvironmentVariable> unknownHere(String name) {
        return Settings.unknownVariables(
                        EpConfig.builder(Map.of(), Map.of(name, "")).build(), keys)
                .stream()
                .findFirst()
                .map(sentence -> new EnvironmentVariable(name, HIDDEN, Effect.UNKNOWN, "", "no effect: " + sentence));
    }

    private Optional<EnvironmentVariable> misspelt(String name, String value) {
        TreeSet<String> names = new TreeSet<>();
        keys.forEach(key -> key.variables().stream()
                .filter(variable -> family(variable).equals(family(name)))
                .forEach(names::add));
        return NearestName.within(name, names, EDITS)
                .map(nearest -> new EnvironmentVariable(
                        name,
                        isSecret(name) ? HIDDEN : value,
                        Effect.UNKNOWN,
                        "",
                        "no effect: not a setting of " + owner(name) + " that ep4j knows; the nearest one is "
                                + nearest));
    }

    private static String owner(String name) {
        return family(name).map(FAMILIES::get).orElse("ep4j");
    }

    private static boolean isSecret(String name) {
        return SECRET.matcher(name).matches();
    }

    /**
     * Variables of NCCL, NVSHMEM, UCCL, MSCCL++ and DeepEP that no setting reads, as they stand in {@code variables.json}.
     *
     * @param entries variables with one meaning, together
     */
    record KnownVariables(List<Entry> entries) {
        private static final String ANY = "*";

        /**
         * Variables with one meaning.
         *
         * @param names of the variables; with {@code *} at the end, what names begin with
         * @param effect {@link Effect#NONE} or {@link Effect#READ_OTHERWISE}
         * @param meaning why they do nothing, or who reads them
         */
        record Entry(List<String> names, Effect effect, String meaning) {}

        static KnownVariables read() {
            try (InputStream in = KnownVariables.class.getResourceAsStream("variables.json")) {
                if (in == null) {
                    throw new IllegalStateException("variables.json is missing from the command's jar");
                }
                return JsonMapper.shared().readValue(in, KnownVariables.class);
            } catch (IOException e) {
                throw new UncheckedIOException("variables.json cannot be read from the command's jar", e);
            }
        }

        /** The entry that has exactly this name. */
        Optional<Entry> named(String name) {
            return entries.stream()
                    .filter(entry -> entry.names().contains(name))
                    .findFirst();
        }

        /** The entry with the longest beginning of this name. */
        Optional<Entry> beginning(String name) {
            return entries.stream()
                    .filter(entry -> longest(entry, name) > 0)
                    .max(Comparator.comparing(entry -> longest(entry, name)));
        }

        private static int longest(Entry entry, String name) {
            return entry.names().stream()
                    .filter(item -> item.endsWith(ANY) && name.startsWith(item.substring(0, item.length() - 1)))
                    .mapToInt(String::length)
                    .max()
                    .orElse(0);
        }
    }
}
