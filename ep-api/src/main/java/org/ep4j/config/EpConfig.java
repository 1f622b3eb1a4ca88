package org.ep4j.config;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpConfigException;

/**
 * Settings as the user gave them. Precedence: builder, system property, environment, default. An unknown {@code ep.*} name
 * in the builder or among the system properties, and a malformed value anywhere, is an error that names the nearest known
 * key. Unknown environment variables are not, since other software uses names that begin with {@code EP_}; {@link
 * #unknownVariables} lists them. Some keys are also read from variables of other software ({@link ConfigKey#variables}),
 * after their own.
 *
 * <p>Immutable. Keys are declared late (backends bring theirs), so names are checked by {@link #check}, which
 * {@code EpGroup.join} calls with everything that was found.
 */
public final class EpConfig {
    /** Where a value came from. */
    public enum Origin {
        /** {@link Builder#set}. */
        BUILDER,
        /** {@code -Dep.name=value}. */
        SYSTEM_PROPERTY,
        /** {@code EP_NAME=value}. */
        ENVIRONMENT,
        /** Nobody set it. */
        DEFAULT
    }

    /**
     * The value of a setting, and where it came from. {@link #toString} hides the values of keys named {@code
     * *.secret}.
     *
     * @param name of the key
     * @param text the value
     * @param origin where it came from
     * @param source name of the property or variable; empty for the builder and the default
     */
    public record Resolved(String name, String text, Origin origin, String source) {
        @Override
        public String toString() {
            return name + " = \"" + (isSecret() ? "(hidden)" : text) + "\" (" + origin
                    + (source.isEmpty() ? "" : " " + source) + ")";
        }

        private boolean isSecret() {
            return name.endsWith(".secret") && !text.isEmpty();
        }
    }

    private final Map<String, String> given;
    private final Map<String, String> properties;
    private final Map<String, String> environment;

    private EpConfig(Map<String, String> given, Map<String, String> properties, Map<String, String> environment) {
        this.given = Map.copyOf(given);
        this.properties = Map.copyOf(properties);
        this.environment = Map.copyOf(environment);
    }

    /** Loads a configuration from system properties and environment variables alone. */
    public static EpConfig load() {
        return builder().build();
    }

    /** Starts a configuration whose settings override this process's system properties and environment. */
    public static Builder builder() {
        Map<String, String> properties = new TreeMap<>();
        for (String name : System.getProperties().stringPropertyNames()) {
            properties.put(name, System.getProperty(name, ""));
        }
        return new Builder(properties, System.getenv());
    }

    /**
     * Starts a configuration whose settings override the given system properties and environment, for tests and tools.
     */
    public static Builder builder(Map<String, String> properties, Map<String, String> environment) {
        return new Builder(properties, environment);
    }

    /** Returns a builder that starts with the settings of this configuration. */
    public Builder toBuilder() {
        Builder builder = new Builder(properties, environment);
        given.forEach(builder::set);
        return builder;
    }

    /**
     * The value of a key.
     *
     * @throws EpConfigException when the text does not parse; it names origin, value and format
     */
    public <T> T get(ConfigKey<T> key) {
        Resolved resolved = resolve(key);
        try {
            return key.parser().apply(resolved.text());
        } catch (NicListException e) {
            // A list is long, and one entry of it is wrong.
            throw new EpConfigException(given(key, resolved) + ": " + e.getMessage(), e);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new EpConfigException(given(key, resolved) + ", must be " + key.format() + "; " + key.help(), e);
        }
    }

    private static String given(ConfigKey<?> key, Resolved resolved) {
        return key.name() + " is \"" + resolved.text() + "\" (from " + resolved.origin()
                + (resolved.origin() == Origin.ENVIRONMENT ? " " + resolved.source() : "") + ")";
    }

    /** The value of a key as text, with its origin. */
    public Resolved resolve(ConfigKey<?> key) {
        String text = given.get(key.name());
        if (text != null) {
            return new Resolved(key.name(), text, Origin.BUILDER, "");
        }
        text = properties.get(key.name());
        if (text != null) {
            return new Resolved(key.name(), text, Origin.SYSTEM_PROPERTY, key.name());
        }
        text = environment.get(key.environmentName());
        if (text != null) {
            return new Resolved(key.name(), text, Origin.ENVIRONMENT, key.environmentName());
        }
        for (String variable : key.variables()) {
            text = environment.get(variable);
            if (text != null && !text.isBlank()) {
                return new Resolved(key.name(), key.reading(variable, text), Origin.ENVIRONMENT, variable);
            }
        }
        return new Resolved(key.name(), key.defaultText(), Origin.DEFAULT, "");
    }

    /** Every key with its value and origin, by name, for people to read: values of keys named {@code *.secret} are hidden. */
    public List<Resolved> resolveAll(List<ConfigKey<?>> keys) {
        return keys.stream()
                .map(key -> shown(resolve(key)))
                .sorted(java.util.Comparator.comparing(Resolved::name))
                .toList();
    }

    private static Resolved shown(Resolved setting) {
        return setting.isSecret()
                ? new Resolved(setting.name(), "(hidden)", setting.origin(), setting.source())
                : setting;
    }

    /**
     * Refuses unknown names and malformed values.
     *
     * @param known every key that somebody declared
     * @throws EpConfigException naming every offender, each with the nearest known key
     */
    public void check(List<ConfigKey<?>> known) {
        Map<String, ConfigKey<?>> byName = new TreeMap<>();
        known.forEach(key -> byName.put(key.name(), key));
        List<String> problems = new ArrayList<>();
        Map<String, Origin> names = new LinkedHashMap<>();
        new TreeMap<>(given).keySet().forEach(name -> names.put(name, Origin.BUILDER));
        new TreeMap<>(properties).keySet().forEach(name -> names.putIfAbsent(name, Origin.SYSTEM_PROPERTY));
        names.forEach((name, origin) -> {
            if (!byName.containsKey(name)) {
                problems.add("unknown key " + name + " (from " + origin + "); the nearest known one is "
                        + NearestName.of(name, byName.keySet()));
            }
        });
        for (ConfigKey<?> key : byName.values()) {
            try {
                get(key);
            } catch (EpConfigException e) {
                problems.add(String.valueOf(e.getMessage()));
            }
        }
        if (!problems.isEmpty()) {
            throw new EpConfigException(String.join("\n", problems));
        }
    }

    /**
     * A sentence for each unknown environment variable whose name begins with {@code EP_}, with the nearest known name.
     * {@link #check} ignores these variables, since other software uses such names too.
     *
     * @param known every key that somebody declared
     */
    public List<String> unknownVariables(List<ConfigKey<?>> known) {
        return EpVariables.unknown(environment.keySet(), known);
    }

    /** Collects settings. Not safe for use from several threads. */
    public static final class Builder {
        private final Map<String, String> given = new TreeMap<>();
        private final Map<String, String> properties;
        private final Map<String, String> environment;

        private Builder(Map<String, String> properties, Map<String, String> environment) {
            this.properties = new TreeMap<>(properties);
            this.properties.keySet().removeIf(name -> !name.startsWith("ep."));
            this.environment = environment;
        }

        /** Sets a key by name; the name is checked when a group is joined. */
        public Builder set(String name, String value) {
            given.put(name, value);
            return this;
        }

        /** Sets a key. */
        public Builder set(ConfigKey<?> key, String value) {
            return set(key.name(), value);
        }

        /** The finished configuration. */
        public EpConfig build() {
            return new EpConfig(given, properties, environment);
        }
    }
}
