package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.EpBackendProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The reference of settings is what the program reads. */
@Tag("verify")
final class SettingsPageTest {
    @Test
    void thePageListsEverySetting() throws IOException {
        StringBuilder text = new StringBuilder("""
                # Settings

                A setting is taken from `EpConfig.Builder.set`, else from the system property `-Dep.NAME=VALUE`, else from the environment
                variable of the same name in capitals, with underscores for dots and hyphens: `ep.nic.gid-index` is `EP_NIC_GID_INDEX`. If
                that variable is not set, ep4j reads the variables that the tables list as "other variables", most of which belong to NCCL,
                NVSHMEM, UCCL or MSCCL++. If `ep.gpu.sms`, `ep.gpu.low-latency.sms` or `ep.host.non-temporal-bytes` is set in none of these
                places, a buffer uses the value that `./ep tune` has measured for its shape, if there is one. `ep.tune=off` ignores measured
                values. An unknown `ep.*` name in the builder or among the system properties is refused, and the error names the nearest
                known one. An unknown `EP_*` environment variable is ignored, since other software uses such names; `./ep doctor` warns of
                it, unless the variable is known to be DeepEP's. Settings that must be the same on all ranks are compared when ranks join.

                Durations are written as `50us`, `500ms`, `30s`, `5m` or `1h` and must be greater than zero; sizes are written as `4096`, `64MiB` or `2GiB`.
                """);
        section(text, "All backends", EpKeys.all());
        for (EpBackendProvider backend : ReadmeTest.backends()) {
            if (!backend.configKeys().isEmpty()) {
                section(text, "`" + backend.id() + "`", backend.configKeys());
            }
        }
        GeneratedPage.check("docs/reference/settings.md", text.toString());
        assertThat(text).contains("`ep.timeout`");
    }

    private static void section(StringBuilder text, String title, List<ConfigKey<?>> keys) {
        text.append("\n## ").append(title).append("\n\n");
        text.append("| setting | default | value | meaning |\n|---|---|---|---|\n");
        for (ConfigKey<?> key : keys) {
            String others = key.variables().isEmpty()
                    ? ""
                    : "; other variables: "
                            + key.variables().stream()
                                    .map(variable -> variable(variable, key))
                                    .collect(Collectors.joining(", "));
            String fallback = key.defaultText().isEmpty() ? "" : "`" + key.defaultText() + "`";
            text.append("| `" + key.name() + "` | " + fallback + " | " + value(key.format()) + " | " + key.help()
                    + (key.agreed() ? "; the same on all ranks" : "") + others + " |\n");
        }
    }

    /** A variable, and how its values are read where they differ. */
    private static String variable(String name, ConfigKey<?> key) {
        return "`" + name + "`"
                + key.difference(name).map(how -> " (" + how + ")").orElse("");
    }

    /** The head of the page says how durations and sizes are written. */
    private static String value(String format) {
        return format.startsWith("a duration") ? "duration" : format.startsWith("a number of bytes") ? "size" : format;
    }
}
