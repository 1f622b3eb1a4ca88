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
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpConfigException;
import org.ep4j.cli.plan.PlanReport.Variable;
import org.ep4j.cli.plan.PlanReport.Variable.Effect;
import org.ep4j.config.ConfigKey;
import org.ep4j.plan.NearestName;
import org.ep4j.plan.Settings;
import tools.jackson.databind.json.JsonMapper;

/** Explains the variables of a script that was written for another system. */
record EnvironmentAnalysis(EpConfig config, List<ConfigKey<?>> keys, KnownVariables known) {
    /** Beginnings of the names that are explained, and the software that reads them. */
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

    /** Returns the beginnings of the names that are explained. */
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
    static List<Variable> of(Map<String, String> environment, EpConfig config, List<ConfigKey<?>> keys) {
        EnvironmentAnalysis analysis = new EnvironmentAnalysis(config, keys, KnownVariables.read());
        List<Variable> all = new ArrayList<>();
        new TreeMap<>(environment).forEach((name, value) -> {
            List<ConfigKey<?>> readers =
                    keys.stream().filter(key -> reads(key, name)).toList();
            readers.forEach(key -> all.add(analysis.read(name, value, key)));
            if (readers.isEmpty() && family(name).isPresent()) {
                all.add(analysis.unread(name, value));
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

    private Variable read(String name, String value, ConfigKey<?> key) {
        Setting counts = key.setting(config);
        String shown = isSecret(key.environmentName()) || isSecret(name) ? HIDDEN : value;
        String setting = key.name() + " = " + counts.shown().text();
        BiFunction<Effect, String, Variable> row =
                (effect, meaning) -> new Variable(name, shown, effect, key.name(), meaning);
        if (value.isBlank() && !name.equals(key.environmentName())) {
            return row.apply(Effect.NONE, "no effect: it is empty; " + setting + source(counts));
        }
        if (!counts.source().equals(name)) {
            return row.apply(Effect.OVERRIDDEN, "does not count: " + setting + source(counts) + " does");
        }
        try {
            key.get(config);
            return row.apply(Effect.SETS, "-> " + setting);
        } catch (EpConfigException e) {
            return row.apply(Effect.REFUSED, "refused: " + e.getMessage());
        }
    }

    private static String source(Setting counts) {
        return counts.origin() == Origin.DEFAULT
                ? " by default"
                : counts.origin() == Origin.BUILDER
                        ? " from an option of this command"
                        : " from " + (counts.origin() == Origin.SYSTEM_PROPERTY ? "-D" : "") + counts.source();
    }

    private Variable unread(String name, String value) {
        String shown = isSecret(name) ? HIDDEN : value;
        String notKnown =
                "no effect: not a setting of " + family(name).map(FAMILIES::get).orElse("ep4j") + " that ep4j knows";
        return known.named(name)
                .map(entry -> entry.explain(name, shown))
                .or(() -> name.startsWith("EP_")
                        ? unknownHere(name)
                        : misspelt(name)
                                .map(nearest -> new Variable(
                                        name, shown, Effect.UNKNOWN, "", notKnown + "; the nearest one is " + nearest)))
                .or(() -> known.beginning(name).map(entry -> entry.explain(name, shown)))
                .orElseGet(() -> new Variable(name, shown, Effect.UNKNOWN, "", notKnown));
    }

    /** Hides the value: the name may be a misspelt setting, and the value a secret. */
    private Optional<Variable> unknownHere(String name) {
        return Settings.unknownVariables(
                        EpConfig.builder(Map.of(), Map.of(name, "")).build(), keys)
                .stream()
                .findFirst()
                .map(sentence -> new Variable(name, HIDDEN, Effect.UNKNOWN, "", "no effect: " + sentence));
    }

    private Optional<String> misspelt(String name) {
        List<String> names = keys.stream()
                .flatMap(key -> key.variables().stream())
                .filter(variable -> family(variable).equals(family(name)))
                .sorted()
                .distinct()
                .toList();
        return NearestName.within(name, names, EDITS);
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
        record Entry(List<String> names, Effect effect, String meaning) {
            Variable explain(String name, String shown) {
                return new Variable(name, shown, effect, "", (effect == Effect.NONE ? "no effect: " : "") + meaning);
            }
        }

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
