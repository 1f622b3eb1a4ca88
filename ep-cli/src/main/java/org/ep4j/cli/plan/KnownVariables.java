package org.ep4j.cli.plan;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.ep4j.cli.plan.EnvironmentVariable.Effect;
import tools.jackson.databind.json.JsonMapper;

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
        return entries.stream().filter(entry -> entry.names().contains(name)).findFirst();
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
