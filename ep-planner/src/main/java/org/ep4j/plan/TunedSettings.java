package org.ep4j.plan;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;

/**
 * Settings that {@code ./ep tune} has found for one machine and shape, as kept in a file: properties in UTF-8, under a name that
 * fingerprint and shape determine. Immutable. Several processes may use one folder at once: a file appears whole or not at all.
 *
 * @param fingerprint of a rank of the measured group
 * @param shape of the measured buffers
 * @param choices settings that are faster than their defaults; empty where the defaults are best
 * @param measured date of the measurement, for people
 * @param version of ep4j that measured
 */
public record TunedSettings(
        Fingerprint fingerprint, Shape shape, List<Choice> choices, String measured, String version) {
    /**
     * Settings that {@code ./ep tune} may choose, by name: a rank may differ from the others in them, and a buffer reads them when
     * it is created.
     */
    public static final Map<String, ConfigKey<?>> TUNABLE =
            byName(List.of(EpKeys.GPU_SMS, EpKeys.LOW_LATENCY_SMS, EpKeys.HOST_NON_TEMPORAL_BYTES));

    private static final String FORMAT = "1";
    private static final String PREFIX = "tuned-";
    private static final String SUFFIX = ".properties";
    private static final String FILES = PREFIX + "*" + SUFFIX;

    /** Hexadecimal digits of a hash in the name of a file. */
    private static final int DIGITS = 16;

    /** Follows the name of a setting. */
    private static final String REASON = ".reason";

    private static final String HEAD = """
            # Settings that ./ep tune has measured to be fastest on this machine for buffers of this shape.
            # ./ep tune --forget removes all such files; ep.tune=off ignores them.
            """;

    /**
     * Checks the choices.
     *
     * @throws IllegalArgumentException when a setting is chosen twice
     */
    public TunedSettings {
        choices = List.copyOf(choices);
        if (choices.stream().map(Choice::setting).distinct().count() < choices.size()) {
            throw new IllegalArgumentException("choices are " + choices + ", must name each setting once");
        }
    }

    /**
     * Sizes of a buffer on which the fastest settings depend.
     *
     * @param hidden {@link EpShape#hidden}
     * @param experts {@link EpShape#experts}
     * @param topK {@link EpShape#topK}
     * @param maxTokens {@link EpShape#maxTokens}; 0 without high throughput
     * @param maxLowLatencyTokens {@link EpShape#maxLowLatencyTokens}; 0 without low latency
     */
    public record Shape(int hidden, int experts, int topK, int maxTokens, int maxLowLatencyTokens) {
        /** The sizes of a shape. */
        public static Shape of(EpShape shape) {
            return new Shape(
                    shape.hidden(), shape.experts(), shape.topK(), shape.maxTokens(), shape.maxLowLatencyTokens());
        }

        /** The sizes in words: {@code hidden 7168, 256 experts, top-8, 4096 tokens, 128 low-latency tokens}. */
        public String text() {
            return "hidden " + hidden + ", " + Fingerprint.count(experts, "expert") + ", top-" + topK
                    + (maxTokens == 0 ? "" : ", " + Fingerprint.count(maxTokens, "token"))
                    + (maxLowLatencyTokens == 0
                            ? ""
                            : ", " + Fingerprint.count(maxLowLatencyTokens, "low-latency token"));
        }
    }

    /**
     * A value that is faster than the default.
     *
     * @param setting name of one of the {@link TunedSettings#TUNABLE} settings
     * @param value as text
     * @param reason what was measured, for people: {@code ht.combine, 4096 tokens: 221.9 -> 211.4 us}
     */
    public record Choice(String setting, String value, String reason) {
        /**
         * Checks setting and value.
         *
         * @throws IllegalArgumentException when the setting cannot be tuned, or the value does not have its format
         */
        public Choice {
            ConfigKey<?> key = TUNABLE.get(setting);
            if (key == null) {
                throw new IllegalArgumentException(
                        "\"" + setting + "\" is no setting that ./ep tune chooses, must be one of "
                                + String.join(", ", TUNABLE.keySet()));
            }
            try {
                key.parse(value);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(setting + " is \"" + value + "\", must be " + key.format(), e);
            }
        }
    }

    private static Map<String, ConfigKey<?>> byName(List<ConfigKey<?>> keys) {
        Map<String, ConfigKey<?>> named = new TreeMap<>();
        keys.forEach(key -> named.put(key.name(), key));
        return Collections.unmodifiableMap(named);
    }

    /** The chosen values, by name of the setting, in the order of {@link #choices}. */
    public Map<String, String> settings() {
        Map<String, String> values = new LinkedHashMap<>();
        choices.forEach(choice -> values.put(choice.setting(), choice.value()));
        return Collections.unmodifiableMap(values);
    }

    /**
     * Reads all files of a folder, in the order of their names; none if there is no such folder. What cannot be read, or is not
     * what {@link #write} wrote, is left out.
     *
     * @param problems takes a sentence for everything that is left out; it names the file and the fix
     */
    public static List<TunedSettings> read(Path folder, Consumer<String> problems) {
        List<TunedSettings> found = new ArrayList<>();
        for (Path file : files(folder, problems)) {
            try {
                found.add(parse(file, Files.readString(file)));
            } catch (IOException e) {
                problems.accept(leftOut(file, e.toString()));
            } catch (IllegalArgumentException e) {
                problems.accept(leftOut(file, String.valueOf(e.getMessage())));
            }
        }
        return List.copyOf(found);
    }

    private static String leftOut(Path file, String why) {
        return "tuned settings in " + file + " are not used: " + why
                + "; measure again with ./ep tune, or remove the file";
    }

    private static List<Path> files(Path folder, Consumer<String> problems) {
        try {
            return files(folder);
        } catch (IOException e) {
            problems.accept("cannot read tuned settings in " + folder + ": " + e
                    + "; set EP_CACHE_DIR to a folder that this process can read");
            return List.of();
        }
    }

    private static List<Path> files(Path folder) throws IOException {
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder, FILES)) {
            stream.forEach(files::add);
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return files.stream().sorted().toList();
    }

    private static TunedSettings parse(Path file, String text) throws IOException {
        Properties fields = new Properties();
        fields.load(new StringReader(text));
        String format = field(fields, "format");
        if (!format.equals(FORMAT)) {
            throw new IllegalArgumentException("format is \"" + format + "\", must be " + FORMAT);
        }
        List<Choice> choices = new ArrayList<>();
        for (String setting : list(field(fields, "settings"))) {
            choices.add(new Choice(setting, field(fields, setting), field(fields, setting + REASON)));
        }
        TunedSettings settings = new TunedSettings(
                new Fingerprint(
                        field(fields, "fingerprint.device"),
                        field(fields, "fingerprint.model"),
                        number(fields, "fingerprint.processors"),
                        number(fields, "fingerprint.ranks"),
                        number(fields, "fingerprint.hosts"),
                        number(fields, "fingerprint.devices"),
                        list(field(fields, "fingerprint.backends"))),
                new Shape(
                        number(fields, "shape.hidden"),
                        number(fields, "shape.experts"),
                        number(fields, "shape.top-k"),
                        number(fields, "shape.max-tokens"),
                        number(fields, "shape.max-low-latency-tokens")),
                choices,
                field(fields, "measured"),
                field(fields, "version"));
        // Otherwise it could stay beside a newer one of the same fingerprint and shape.
        if (!file.equals(file.resolveSibling(settings.fileName()))) {
            throw new IllegalArgumentException(
                    "its fingerprint and shape belong to a file named " + settings.fileName());
        }
        return settings;
    }

    private static String field(Properties fields, String name) {
        String text = fields.getProperty(name);
        if (text == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return text;
    }

    private static int number(Properties fields, String name) {
        String text = field(fields, name);
        if (!text.matches("\\d{1,9}")) {
            throw new IllegalArgumentException(name + " is \"" + text + "\", must be a number from 0 to 999999999");
        }
        return Integer.parseInt(text);
    }

    private static List<String> list(String text) {
        return Splitter.on(',').trimResults().omitEmptyStrings().splitToList(text);
    }

    /**
     * Writes the file, in place of one of the same fingerprint and shape.
     *
     * @param folder is created if it does not exist
     * @return the file
     * @throws EpUnavailableException when the folder cannot be written
     */
    public Path write(Path folder) {
        Path file = file(folder);
        Path part = folder.resolve(PREFIX + UUID.randomUUID() + ".tmp");
        try {
            // Java 17 refuses to create a folder where a link to one is.
            if (!Files.isDirectory(folder)) {
                Files.createDirectories(folder);
            }
            try {
                Files.writeString(part, text(), StandardOpenOption.CREATE_NEW);
                Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(part);
            }
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot change tuned settings in " + folder + ": " + e
                            + "; set EP_CACHE_DIR to a folder that this process can write",
                    e);
        }
        return file;
    }

    /**
     * Removes the files of every fingerprint and shape, damaged ones too.
     *
     * @return the number of removed files; 0 if there is no such folder
     * @throws EpUnavailableException when the folder cannot be read or written; some files may be removed
     */
    public static int removeAll(Path folder) {
        int removed = 0;
        try {
            for (Path file : files(folder)) {
                removed += Files.deleteIfExists(file) ? 1 : 0;
            }
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot remove tuned settings in " + folder + ": " + e + "; remove " + FILES + " there yourself",
                    e);
        }
        return removed;
    }

    /** The file of this fingerprint and shape in a folder. */
    public Path file(Path folder) {
        return folder.resolve(fileName());
    }

    private String fileName() {
        byte[] identity = lines(identity()).getBytes(StandardCharsets.UTF_8);
        return PREFIX + HexFormat.of().formatHex(sha256().digest(identity)).substring(0, DIGITS) + SUFFIX;
    }

    private String text() {
        Properties fields = identity();
        fields.setProperty("format", FORMAT);
        fields.setProperty("measured", measured);
        fields.setProperty("version", version);
        fields.setProperty("settings", String.join(",", settings().keySet()));
        for (Choice choice : choices) {
            fields.setProperty(choice.setting(), choice.value());
            fields.setProperty(choice.setting() + REASON, choice.reason());
        }
        return HEAD + lines(fields);
    }

    private Properties identity() {
        Properties fields = new Properties();
        fields.setProperty("fingerprint.device", fingerprint.device());
        fields.setProperty("fingerprint.model", fingerprint.model());
        fields.setProperty("fingerprint.processors", Integer.toString(fingerprint.processors()));
        fields.setProperty("fingerprint.ranks", Integer.toString(fingerprint.ranks()));
        fields.setProperty("fingerprint.hosts", Integer.toString(fingerprint.hosts()));
        fields.setProperty("fingerprint.devices", Integer.toString(fingerprint.devices()));
        fields.setProperty("fingerprint.backends", String.join(",", fingerprint.backends()));
        fields.setProperty("shape.hidden", Integer.toString(shape.hidden()));
        fields.setProperty("shape.experts", Integer.toString(shape.experts()));
        fields.setProperty("shape.top-k", Integer.toString(shape.topK()));
        fields.setProperty("shape.max-tokens", Integer.toString(shape.maxTokens()));
        fields.setProperty("shape.max-low-latency-tokens", Integer.toString(shape.maxLowLatencyTokens()));
        return fields;
    }

    /** One line for each field, sorted; the same text for the same fields. */
    private static String lines(Properties fields) {
        StringWriter text = new StringWriter();
        try {
            fields.store(text, "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        // Comments have the time.
        return text.toString()
                .lines()
                .filter(line -> !line.startsWith("#"))
                .sorted()
                .collect(Collectors.joining("\n", "", "\n"));
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
