package org.ep4j.config;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpConfigException;

/**
 * One declared setting: its name, its default and how its text is read. Immutable.
 *
 * @param <T> type of the value
 */
public final class ConfigKey<T> {
    private static final Pattern DURATION = Pattern.compile("(\\d{1,14})\\s*(us|ms|s|m|h)");
    private static final Pattern BYTES =
            Pattern.compile("(\\d{1,12}(?:\\.\\d{1,6})?)\\s*(|[KMGT](?:iB)?)", Pattern.CASE_INSENSITIVE);

    private final String name;
    private final String defaultText;
    private final String format;
    private final String help;
    private final Function<String, T> parser;
    private final boolean agreed;
    /** Variables of other software, in the order in which they are read. */
    private final Map<String, Reading> variables;

    /** How values of a variable of other software are read: the difference, for people, and the key's text for the variable's. */
    private record Reading(String difference, UnaryOperator<String> reader) {
        Reading {
            Objects.requireNonNull(difference, "difference");
            Objects.requireNonNull(reader, "reader");
        }
    }

    private ConfigKey(String name, String defaultText, String format, String help, Function<String, T> parser) {
        this(name, defaultText, format, help, parser, false, Map.of());
    }

    private ConfigKey(
            String name,
            String defaultText,
            String format,
            String help,
            Function<String, T> parser,
            boolean agreed,
            Map<String, Reading> variables) {
        this.name = name;
        this.defaultText = defaultText;
        this.format = format;
        this.help = help;
        this.parser = parser;
        this.agreed = agreed;
        this.variables = Collections.unmodifiableMap(variables);
    }

    /** A key whose value is text. */
    public static ConfigKey<String> text(String name, String defaultText, String help) {
        return new ConfigKey<>(name, defaultText, "text", help, Function.identity());
    }

    /** A key whose value is {@code true} or {@code false}. */
    public static ConfigKey<Boolean> flag(String name, boolean defaultValue, String help) {
        return new ConfigKey<>(name, Boolean.toString(defaultValue), "true or false", help, ConfigKey::parseFlag);
    }

    /** A key whose value is one of {@code values}; case does not matter, and {@code _} is the same as {@code -}. */
    public static ConfigKey<String> choice(String name, String defaultText, List<String> values, String help) {
        List<String> accepted = List.copyOf(values);
        String format = String.join(", ", accepted.subList(0, accepted.size() - 1)) + " or "
                + accepted.get(accepted.size() - 1);
        return new ConfigKey<>(name, defaultText, format, help, text -> {
            String value = text.trim().toLowerCase(Locale.ROOT).replace('_', '-');
            if (!accepted.contains(value)) {
                throw new IllegalArgumentException(text);
            }
            return value;
        });
    }

    /** A key whose value is an integer from {@code min} to {@code max}. */
    public static ConfigKey<Integer> integer(String name, int defaultValue, int min, int max, String help) {
        return new ConfigKey<>(
                name, Integer.toString(defaultValue), "an integer from " + min + " to " + max, help, text -> {
                    // NCCL, whose variables some keys share, reads hexadecimal numbers too.
                    String number = text.trim();
                    int value = number.startsWith("0x")
                            ? Integer.parseInt(number.substring(2), 16)
                            : Integer.parseInt(number);
                    if (value < min || value > max) {
                        throw new IllegalArgumentException(text + " is outside");
                    }
                    return value;
                });
    }

    /** A key whose value is a power of two from {@code min} to {@code max}. */
    public static ConfigKey<Integer> powerOfTwo(String name, int defaultValue, int min, int max, String help) {
        return new ConfigKey<>(
                name, Integer.toString(defaultValue), "a power of two from " + min + " to " + max, help, text -> {
                    int value = Integer.parseInt(text.trim());
                    if (value < min || value > max || Integer.bitCount(value) != 1) {
                        throw new IllegalArgumentException(text + " is none");
                    }
                    return value;
                });
    }

    /** A key whose value is a duration above zero such as {@code 50us}, {@code 500ms}, {@code 30s}, {@code 5m}. */
    public static ConfigKey<Duration> duration(String name, String defaultText, String help) {
        return new ConfigKey<>(
                name, defaultText, "a duration above zero such as 500ms, 30s or 5m", help, ConfigKey::parseDuration);
    }

    /**
     * A key whose value is a number of bytes such as {@code 4096}, {@code 64 MiB}, {@code 1.5GiB}. {@code K}, {@code M}, {@code G} and
     * {@code T} alone are the same binary units, as in variables of NVSHMEM.
     */
    public static ConfigKey<Long> bytes(String name, String defaultText, String help) {
        return new ConfigKey<>(
                name, defaultText, "a number of bytes such as 4096, 64MiB or 2GiB", help, ConfigKey::parseBytes);
    }

    /**
     * Returns a key with the same name and variables that converts the value to another type.
     *
     * @param <V> type of its value
     * @param newFormat format of a value, for messages
     * @param conversion throws {@link IllegalArgumentException} for values that cannot be meant
     */
    public <V> ConfigKey<V> map(String newFormat, Function<? super T, ? extends V> conversion) {
        return new ConfigKey<>(
                name, defaultText, newFormat, help, text -> conversion.apply(parser.apply(text)), agreed, variables);
    }

    /**
     * Returns a copy of this key that refuses some values.
     *
     * @param newFormat format of a value, for messages
     * @param check throws {@link IllegalArgumentException} for values that cannot be meant
     */
    public ConfigKey<T> checked(String newFormat, Consumer<? super T> check) {
        return map(newFormat, value -> {
            check.accept(value);
            return value;
        });
    }

    /** Returns a copy of this key whose value must be the same on all ranks. */
    public ConfigKey<T> agreedByAllRanks() {
        return new ConfigKey<>(name, defaultText, format, help, parser, true, variables);
    }

    /**
     * Returns a copy of this key that is also read from an environment variable of other software, where neither {@link
     * #environmentName} nor a variable that was added before is set.
     */
    public ConfigKey<T> orVariable(String variable) {
        return orVariable(variable, "", UnaryOperator.identity());
    }

    /**
     * Returns a copy of this key that is also read from an environment variable of other software; {@code values}
     * translates the values of this variable.
     *
     * @param values the key's text for each value of the variable, in small letters; one for {@code 0} and {@code 1} at least
     */
    public ConfigKey<T> orVariable(String variable, Map<String, String> values) {
        Map<String, String> copy = Map.copyOf(values);
        return orVariable(
                variable,
                "1 is `" + Objects.requireNonNull(copy.get("1"), "1") + "`, 0 is `"
                        + Objects.requireNonNull(copy.get("0"), "0") + "`",
                text -> copy.getOrDefault(text.strip().toLowerCase(Locale.ROOT), text));
    }

    /**
     * Returns a copy of this key that is also read from an environment variable of other software; the value of this
     * variable is multiplied by {@code factor}.
     */
    public ConfigKey<T> orVariableTimes(String variable, int factor) {
        return orVariable(variable, "times " + factor, text -> {
            try {
                return Long.toString(Math.multiplyExact(Long.parseLong(text.strip()), factor));
            } catch (NumberFormatException | ArithmeticException e) {
                return text;
            }
        });
    }

    /**
     * Returns a copy of this key that is also read from an environment variable of other software, whose values are
     * converted.
     *
     * @param difference how its values differ from the key's, for people: {@code times 8}
     * @param reader gives the key's text for the variable's; text that it cannot read stays as it is
     */
    public ConfigKey<T> orVariable(String variable, String difference, UnaryOperator<String> reader) {
        Map<String, Reading> more = new LinkedHashMap<>(variables);
        more.putIfAbsent(Objects.requireNonNull(variable, "variable"), new Reading(difference, reader));
        return new ConfigKey<>(name, defaultText, format, help, parser, agreed, more);
    }

    /** Name as in a system property: {@code ep.timeout}. */
    public String name() {
        return name;
    }

    /** Value where nobody sets it, as text. */
    public String defaultText() {
        return defaultText;
    }

    /** Format of a value, for messages. */
    public String format() {
        return format;
    }

    /** Effect of the setting, in one sentence for users. */
    public String help() {
        return help;
    }

    /** Returns true if all ranks must have the same value. */
    public boolean agreed() {
        return agreed;
    }

    /** Environment variables of other software that give the value where {@link #environmentName} is not set, in this order. */
    public List<String> variables() {
        return List.copyOf(variables.keySet());
    }

    /** How values of one of the {@link #variables} differ from the key's, for people; empty where they do not. */
    public Optional<String> difference(String variable) {
        return Optional.ofNullable(variables.get(variable))
                .map(Reading::difference)
                .filter(difference -> !difference.isEmpty());
    }

    /** Name of this key's own environment variable: {@link #name} in capitals with underscores, {@code EP_TIMEOUT}. */
    public String environmentName() {
        return EpConfig.environmentName(name);
    }

    /**
     * The value of this key.
     *
     * @throws EpConfigException when the text does not parse; it names origin, value and format
     */
    public T get(EpConfig config) {
        Setting setting = setting(config);
        try {
            return parse(setting.text());
        } catch (NicListException e) {
            // A list is long, and one entry of it is wrong.
            throw new EpConfigException(given(setting) + ": " + e.getMessage(), e);
        } catch (IllegalArgumentException e) {
            throw new EpConfigException(given(setting) + ", must be " + format + "; " + help, e);
        }
    }

    /**
     * The value that a text stands for.
     *
     * @throws IllegalArgumentException when the text does not have the {@link #format}
     */
    public T parse(String text) {
        try {
            return parser.apply(text);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(text + " is too large", e);
        }
    }

    private String given(Setting setting) {
        // A property has the name of the key.
        String source = setting.origin() == Origin.SYSTEM_PROPERTY ? "" : setting.source();
        return name + " is \"" + setting.text() + "\" (from " + setting.origin()
                + (source.isEmpty() ? "" : " " + source) + ")";
    }

    /** The value of this key as text, with its origin. */
    public Setting setting(EpConfig config) {
        return config.lookup(name, variables())
                .map(this::read)
                .orElseGet(() -> Setting.of(name, defaultText, Origin.DEFAULT, ""));
    }

    private Setting read(Setting given) {
        Reading reading = variables.get(given.source());
        return reading == null
                ? given
                : Setting.of(name, reading.reader().apply(given.text()), given.origin(), given.source());
    }

    /** The name and the format, for messages. */
    @Override
    public String toString() {
        return name + ": " + format;
    }

    private static boolean parseFlag(String text) {
        return switch (text.trim().toLowerCase(Locale.ROOT)) {
            case "true", "1", "yes", "on" -> true;
            case "false", "0", "no", "off" -> false;
            default -> throw new IllegalArgumentException(text);
        };
    }

    private static Duration parseDuration(String text) {
        var matcher = DURATION.matcher(text.trim());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(text);
        }
        long amount = Long.parseLong(matcher.group(1));
        Duration value = switch (matcher.group(2)) {
            case "us" -> Duration.ofNanos(Math.multiplyExact(amount, 1000));
            case "ms" -> Duration.ofMillis(amount);
            case "s" -> Duration.ofSeconds(amount);
            case "m" -> Duration.ofMinutes(amount);
            default -> Duration.ofHours(amount);
        };
        if (value.isZero() || value.compareTo(Duration.ofDays(365)) > 0) {
            throw new IllegalArgumentException(text);
        }
        return value;
    }

    private static long parseBytes(String text) {
        var matcher = BYTES.matcher(text.trim());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(text);
        }
        String unit = matcher.group(2).toUpperCase(Locale.ROOT);
        int shift = unit.isEmpty() ? 0 : 10 * ("KMGT".indexOf(unit.charAt(0)) + 1);
        return new BigDecimal(matcher.group(1))
                .multiply(BigDecimal.valueOf(1L << shift))
                .toBigInteger()
                .longValueExact();
    }
}
