package org.ep4j.config;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpConfigException;

/**
 * One declared setting.
 *
 * @param name as in a system property: {@code ep.timeout}; the environment variable is the same in capitals with
 *     underscores: {@code EP_TIMEOUT}
 * @param defaultText value when nobody sets it, as text
 * @param format what a value looks like, for messages
 * @param help one sentence for users
 * @param parser reads a value; throws {@link IllegalArgumentException} when it is malformed
 * @param agreed true when all ranks must have the same value
 * @param variables environment variables of other software that give the value where {@link #environmentName} is not set,
 *     in this order
 * @param readings how values of such a variable are read where they differ from the key's, by variable
 * @param <T> type of the value
 */
public record ConfigKey<T>(
        String name,
        String defaultText,
        String format,
        String help,
        Function<String, T> parser,
        boolean agreed,
        List<String> variables,
        Map<String, Reading> readings) {
    private static final Pattern DURATION = Pattern.compile("(\\d{1,14})\\s*(us|ms|s|m|h)");
    private static final Pattern BYTES =
            Pattern.compile("(\\d{1,12}(?:\\.\\d{1,6})?)\\s*(|[KMGT](?:iB)?)", Pattern.CASE_INSENSITIVE);

    /**
     * How a value of an environment variable of other software is converted into a value of this key.
     *
     * @param text the difference, for people: {@code 1 is `false`}
     * @param reader gives the key's text for the variable's; text that it cannot read stays as it is
     */
    public record Reading(String text, UnaryOperator<String> reader) {}

    /** Copies list and map. */
    public ConfigKey {
        variables = List.copyOf(variables);
        readings = Map.copyOf(readings);
    }

    /** Creates a key that is not read from any variable of other software. */
    public ConfigKey(
            String name, String defaultText, String format, String help, Function<String, T> parser, boolean agreed) {
        this(name, defaultText, format, help, parser, agreed, List.of(), Map.of());
    }

    /** A key whose value is text. */
    public static ConfigKey<String> text(String name, String defaultText, String help) {
        return new ConfigKey<>(name, defaultText, "text", help, Function.identity(), false);
    }

    /**
     * A key whose value is text that {@code check} accepts.
     *
     * @param check throws {@link IllegalArgumentException} for text that cannot be meant
     */
    public static ConfigKey<String> checkedText(
            String name, String defaultText, String format, String help, Consumer<String> check) {
        return new ConfigKey<>(
                name,
                defaultText,
                format,
                help,
                text -> {
                    check.accept(text);
                    return text;
                },
                false);
    }

    /** A key whose value is {@code true} or {@code false}. */
    public static ConfigKey<Boolean> flag(String name, boolean defaultValue, String help) {
        return new ConfigKey<>(
                name, Boolean.toString(defaultValue), "true or false", help, ConfigKey::parseFlag, false);
    }

    /** A key whose value is one of {@code values}; case does not matter, and {@code _} is the same as {@code -}. */
    public static ConfigKey<String> choice(String name, String defaultText, List<String> values, String help) {
        List<String> accepted = List.copyOf(values);
        String format = String.join(", ", accepted.subList(0, accepted.size() - 1)) + " or "
                + accepted.get(accepted.size() - 1);
        return new ConfigKey<>(
                name,
                defaultText,
                format,
                help,
                text -> {
                    String value = text.trim().toLowerCase(Locale.ROOT).replace('_', '-');
                    if (!accepted.contains(value)) {
                        throw new IllegalArgumentException(text);
                    }
                    return value;
                },
                false);
    }

    /** A key whose value is an integer from {@code min} to {@code max}. */
    public static ConfigKey<Integer> integer(String name, int defaultValue, int min, int max, String help) {
        return new ConfigKey<>(
                name,
                Integer.toString(defaultValue),
                "an integer from " + min + " to " + max,
                help,
                text -> {
                    // NCCL, whose variables some keys share, reads hexadecimal numbers too.
                    String number = text.trim();
                    int value = number.startsWith("0x")
                            ? Integer.parseInt(number.substring(2), 16)
                            : Integer.parseInt(number);
                    if (value < min || value > max) {
                        throw new IllegalArgumentException(text + " is outside");
                    }
                    return value;
                },
                false);
    }

    /** A key whose value is a power of two from {@code min} to {@code max}. */
    public static ConfigKey<Integer> powerOfTwo(String name, int defaultValue, int min, int max, String help) {
        return new ConfigKey<>(
                name,
                Integer.toString(defaultValue),
                "a power of two from " + min + " to " + max,
                help,
                text -> {
                    int value = Integer.parseInt(text.trim());
                    if (value < min || value > max || Integer.bitCount(value) != 1) {
                        throw new IllegalArgumentException(text + " is none");
                    }
                    return value;
                },
                false);
    }

    /** A key whose value is a duration above zero such as {@code 50us}, {@code 500ms}, {@code 30s}, {@code 5m}. */
    public static ConfigKey<Duration> duration(String name, String defaultText, String help) {
        return new ConfigKey<>(
                name,
                defaultText,
                "a duration above zero such as 500ms, 30s or 5m",
                help,
                ConfigKey::parseDuration,
                false);
    }

    /**
     * A key whose value is a number of bytes such as {@code 4096}, {@code 64 MiB}, {@code 1.5GiB}. {@code K}, {@code M}, {@code G} and
     * {@code T} alone are the same binary units, as in variables of NVSHMEM.
     */
    public static ConfigKey<Long> bytes(String name, String defaultText, String help) {
        return new ConfigKey<>(
                name, defaultText, "a number of bytes such as 4096, 64MiB or 2GiB", help, ConfigKey::parseBytes, false);
    }

    /** Returns a copy of this key whose value must be the same on all ranks. */
    public ConfigKey<T> agreedByAllRanks() {
        return new ConfigKey<>(name, defaultText, format, help, parser, true, variables, readings);
    }

    /** Returns a copy of this key that is also read from an environment variable of other software. */
    public ConfigKey<T> orVariable(String variable) {
        List<String> more = new ArrayList<>(variables);
        more.add(variable);
        return new ConfigKey<>(name, defaultText, format, help, parser, agreed, more, readings);
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
                new Reading(
                        "1 is `" + copy.get("1") + "`, 0 is `" + copy.get("0") + "`",
                        text -> copy.getOrDefault(text.strip().toLowerCase(Locale.ROOT), text)));
    }

    /**
     * Returns a copy of this key that is also read from an environment variable of other software; the value of this
     * variable is multiplied by {@code factor}.
     */
    public ConfigKey<T> orVariableTimes(String variable, int factor) {
        return orVariable(variable, new Reading("times " + factor, text -> {
            try {
                return Long.toString(Math.multiplyExact(Long.parseLong(text.strip()), factor));
            } catch (NumberFormatException | ArithmeticException e) {
                return text;
            }
        }));
    }

    /**
     * Returns a copy of this key that is also read from an environment variable of other software; {@code reading}
     * converts the values of this variable.
     */
    public ConfigKey<T> orVariable(String variable, Reading reading) {
        Map<String, Reading> more = new HashMap<>(readings);
        more.put(variable, reading);
        return new ConfigKey<>(name, defaultText, format, help, parser, agreed, variables, more).orVariable(variable);
    }

    /** Name of this key's own environment variable. */
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
            return parser.apply(setting.text());
        } catch (NicListException e) {
            // A list is long, and one entry of it is wrong.
            throw new EpConfigException(given(setting) + ": " + e.getMessage(), e);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new EpConfigException(given(setting) + ", must be " + format + "; " + help, e);
        }
    }

    private String given(Setting setting) {
        return name + " is \"" + setting.text() + "\" (from " + setting.origin()
                + (setting.origin() == Origin.ENVIRONMENT ? " " + setting.source() : "") + ")";
    }

    /** The value of this key as text, with its origin. */
    public Setting setting(EpConfig config) {
        return config.lookup(name, variables)
                .map(this::read)
                .orElseGet(() -> new Setting(name, defaultText, Origin.DEFAULT, ""));
    }

    private Setting read(Setting given) {
        Reading reading = readings.get(given.source());
        return reading == null
                ? given
                : new Setting(name, reading.reader().apply(given.text()), given.origin(), given.source());
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
