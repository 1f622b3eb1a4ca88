package org.ep4j;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apiguardian.api.API;

/**
 * Settings as the user gave them: names and text. Precedence: builder, system property, environment; the keys of {@code
 * org.ep4j.config} read values from it, and have defaults. An unknown {@code ep.*} name in the builder or among the system
 * properties is an error that names the nearest known key; a malformed value anywhere is an error that names key,
 * origin and format. Unknown environment variables are no error, since other software uses names that begin with
 * {@code EP_}. Some keys are also read from variables of other software, after their own. Where nobody sets a value, the
 * one that {@code ./ep tune} has measured for a buffer replaces the default.
 *
 * <p>Immutable. Keys are declared late (backends bring theirs), so names and values are checked by {@code EpGroup.join},
 * with everything that was found.
 */
public final class EpConfig {
    /** Origins of a value. Constants may be added: keep a {@code default} where you switch over them. */
    public enum Origin {
        /** {@link Builder#set}. */
        BUILDER,
        /** {@code -Dep.name=value}. */
        SYSTEM_PROPERTY,
        /** {@code EP_NAME=value}. */
        ENVIRONMENT,
        /** Measured by {@code ./ep tune} on this machine, for the shape of a buffer. */
        TUNED,
        /** Nobody set it. */
        DEFAULT
    }

    /**
     * The value of a setting, with its origin. Immutable. {@link Object#toString} hides the values of keys named
     * {@code *.secret}.
     */
    public sealed interface Setting {
        /**
         * Returns a setting.
         *
         * @param name of the key
         * @param text the value
         * @param origin of the value
         * @param source name of the property or variable, or file of a tuned value; empty for the builder and the default
         */
        @API(status = API.Status.INTERNAL, since = "0.1")
        static Setting of(String name, String text, Origin origin, String source) {
            return new SettingValue(name, text, origin, source);
        }

        /** Name of the key. */
        String name();

        /** The value, as text. */
        String text();

        /** Origin of the value. */
        Origin origin();

        /** Name of the property or variable, or file of a tuned value; empty for the builder and the default. */
        String source();

        /**
         * Returns the place of the value, for people: {@code EP_GPU_SMS}, {@code -Dep.gpu.sms}, {@code the program} for
         * the builder, the file of a tuned value, or {@code the default}.
         */
        @API(status = API.Status.INTERNAL, since = "0.1")
        default String place() {
            return switch (origin()) {
                case BUILDER -> "the program";
                case SYSTEM_PROPERTY -> "-D" + source();
                case ENVIRONMENT, TUNED -> source();
                case DEFAULT -> "the default";
            };
        }

        /** Returns this setting for people to read: the value of a key named {@code *.secret} is hidden. */
        default Setting shown() {
            return name().endsWith(".secret") && !text().isEmpty()
                    ? new SettingValue(name(), "(hidden)", origin(), source())
                    : this;
        }
    }

    private final Map<String, String> given;
    private final Map<String, String> properties;
    private final Map<String, String> environment;
    private final Map<String, Setting> tuned;

    private EpConfig(
            Map<String, String> given,
            Map<String, String> properties,
            Map<String, String> environment,
            Map<String, Setting> tuned) {
        this.given = Map.copyOf(given);
        this.properties = Map.copyOf(properties);
        this.environment = Map.copyOf(environment);
        this.tuned = Map.copyOf(tuned);
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
        builder.tuned.putAll(tuned);
        return builder;
    }

    /**
     * Returns a copy with values that were measured. They replace only defaults: a value in the builder, in a system
     * property or in an environment variable, another software's included, remains in force.
     *
     * @param settings values, by name of the key
     * @param source the file that has them
     */
    @API(status = API.Status.INTERNAL, since = "0.1")
    public EpConfig withTuned(Map<String, String> settings, String source) {
        Map<String, Setting> more = new TreeMap<>(tuned);
        settings.forEach((name, text) -> more.put(name, new SettingValue(name, text, Origin.TUNED, source)));
        return new EpConfig(given, properties, environment, more);
    }

    /** Name of a setting's own environment variable: {@code EP_SETUP_TIMEOUT} for {@code ep.setup-timeout}. */
    public static String environmentName(String name) {
        return name.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    /**
     * The text of a setting; empty when nobody set it and no value was measured.
     *
     * @param name as in a system property
     * @param variables environment variables of other software that are read, in this order, where the setting's own is not
     *     set; blank ones count as not set
     */
    public Optional<Setting> lookup(String name, List<String> variables) {
        String text = given.get(name);
        if (text != null) {
            return Optional.of(new SettingValue(name, text, Origin.BUILDER, ""));
        }
        text = properties.get(name);
        if (text != null) {
            return Optional.of(new SettingValue(name, text, Origin.SYSTEM_PROPERTY, name));
        }
        String own = environmentName(name);
        text = environment.get(own);
        if (text != null) {
            return Optional.of(new SettingValue(name, text, Origin.ENVIRONMENT, own));
        }
        for (String variable : variables) {
            String other = environment.getOrDefault(variable, "");
            if (!other.isBlank()) {
                return Optional.of(new SettingValue(name, other, Origin.ENVIRONMENT, variable));
            }
        }
        return Optional.ofNullable(tuned.get(name));
    }

    /** Environment variables by name: of the process, or as passed to {@link #builder(Map, Map)}. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    public Map<String, String> environment() {
        return environment;
    }

    /**
     * Names that an origin gives, sorted: of settings in the builder, of {@code ep.*} system properties, of all
     * environment variables, or of settings that were measured; none for the default. A name may have several origins, of
     * which the first in the order of {@link Origin} counts.
     */
    public Set<String> names(Origin origin) {
        Set<String> names = switch (origin) {
            case BUILDER -> given.keySet();
            case SYSTEM_PROPERTY -> properties.keySet();
            case ENVIRONMENT -> environment.keySet();
            case TUNED -> tuned.keySet();
            case DEFAULT -> Set.of();
        };
        return Collections.unmodifiableSet(new TreeSet<>(names));
    }

    /** Collects settings. Names and values are checked when a group is joined. Not safe for use from several threads. */
    public static final class Builder {
        private final Map<String, String> given = new TreeMap<>();
        private final Map<String, String> properties;
        private final Map<String, String> environment;
        private final Map<String, Setting> tuned = new TreeMap<>();

        private Builder(Map<String, String> properties, Map<String, String> environment) {
            this.properties = new TreeMap<>(properties);
            this.properties.keySet().removeIf(name -> !name.startsWith("ep."));
            this.environment = environment;
        }

        /** Sets {@code ep.device}, the device of this rank. */
        public Builder device(Device device) {
            return set("ep.device", device);
        }

        /** Sets {@code ep.timeout}, the longest wait of one dispatch, combine or receive. */
        public Builder timeout(Duration timeout) {
            return set("ep.timeout", timeout);
        }

        /** Sets {@code ep.backend.require}, the ids of the only backends that may be used; none allows all. */
        public Builder require(String... backends) {
            return set("ep.backend.require", String.join(",", backends));
        }

        /**
         * Sets {@code ep.backend.prefer}, the ids of backends to prefer, in this order, if they offer a path; none lets
         * the planner compare all.
         */
        public Builder prefer(String... backends) {
            return set("ep.backend.prefer", String.join(",", backends));
        }

        /** Sets {@code ep.backend.exclude}, the ids of backends never to use; none excludes no backend. */
        public Builder exclude(String... backends) {
            return set("ep.backend.exclude", String.join(",", backends));
        }

        /**
         * Sets a key by name.
         *
         * @param value its text is the value; a {@link Duration} is rounded up to whole microseconds
         */
        public Builder set(String name, Object value) {
            given.put(name, value instanceof Duration duration ? text(duration) : value.toString());
            return this;
        }

        /** In seconds or milliseconds where that is exact, else in microseconds, rounded up. */
        private static String text(Duration value) {
            if (value.equals(Duration.ofSeconds(value.toSeconds()))) {
                return value.toSeconds() + "s";
            }
            long millis = TimeUnit.MILLISECONDS.convert(value);
            if (value.equals(Duration.ofMillis(millis))) {
                return millis + "ms";
            }
            // The largest count stands for all that is longer, as ChronoUnit.FOREVER is.
            long micros = TimeUnit.MICROSECONDS.convert(value);
            boolean rounded = micros != Long.MAX_VALUE
                    && Duration.of(micros, ChronoUnit.MICROS).compareTo(value) < 0;
            return (rounded ? micros + 1 : micros) + "us";
        }

        /** Builds the configuration. */
        public EpConfig build() {
            return new EpConfig(given, properties, environment, tuned);
        }
    }
}

record SettingValue(String name, String text, EpConfig.Origin origin, String source) implements EpConfig.Setting {
    @Override
    public String toString() {
        return name + " = \"" + shown().text() + "\" (" + origin + (source.isEmpty() ? "" : " " + source) + ")";
    }
}
