package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Settings;
import org.ep4j.spi.EpBackendProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The doctor warns of no variable that scripts, poms or Java sources of this repository use. */
@Tag("verify")
final class EnvironmentVariablesTest {
    private static final Path ROOT = Repository.root();
    private static final Pattern NOT_SOURCES = Pattern.compile("(?:.*/)?(?:target|node_modules|\\.git)/.*");
    private static final Pattern IN_SCRIPTS = Pattern.compile("(?:\\$\\{?|(?<![\\w$]))(EP_[A-Z_]+)(?=[=}:\" /]|$)");
    private static final Pattern IN_POMS = Pattern.compile("<(EP_[A-Z_]+)>");
    private static final Pattern IN_JAVA = Pattern.compile(
            "(?:getenv\\(|getenv\\(\\)\\.getOrDefault\\(| String (?:VARIABLE|REQUIRE\\w*) = )\"(EP_[A-Z_]+)\"");

    @Test
    void everyVariableOfThisRepositoryIsKnown() throws IOException {
        Map<String, String> used = new TreeMap<>();
        try (Stream<Path> files = Files.find(ROOT, 12, (path, attributes) -> attributes.isRegularFile())) {
            files.filter(file -> !NOT_SOURCES
                            .matcher(ROOT.relativize(file).toString())
                            .matches())
                    .forEach(file -> collect(file, used));
        }
        assertThat(used).containsKeys("EP_JAVA_OPTS", "EP_NVRTC", "EP_HIP_RUNTIME", "EP_TCK_REQUIRE", "EP_REQUIRE_MPI");
        List<ConfigKey<?>> keys = new ArrayList<>(EpKeys.all());
        for (EpBackendProvider backend : ReadmeTest.backends()) {
            keys.addAll(backend.configKeys());
        }
        assertThat(Settings.unknownVariables(EpConfig.builder(Map.of(), used).build(), keys))
                .isEmpty();
    }

    private static void collect(Path file, Map<String, String> used) {
        String name = String.valueOf(file.getFileName());
        Pattern pattern = name.endsWith(".java") ? IN_JAVA : name.equals("pom.xml") ? IN_POMS : IN_SCRIPTS;
        if (pattern == IN_SCRIPTS && !name.endsWith(".sh") && !Files.isExecutable(file)) {
            return;
        }
        try {
            pattern.matcher(Files.readString(file, StandardCharsets.ISO_8859_1))
                    .results()
                    .forEach(found -> used.put(found.group(1), ""));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
