package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class JavaCommandTest {
    /** Prints how it was started. */
    static final class Shows {
        private Shows() {}

        public static void main(String[] args) {
            System.out.println(LocalRanks.javaCommand(List.of(), "Next", List.of("x")));
        }
    }

    @Test
    void theCommandHasOptionsBeforeAndArgumentsBehindTheClass() {
        List<String> command = LocalRanks.javaCommand(List.of("-Xmx77m"), "a.B", List.of("c", "d e"));
        assertThat(command.get(0)).endsWith("java");
        assertThat(command).endsWith("a.B", "c", "d e").contains("-Xmx77m", "-cp");
        assertThat(command.contains("--enable-native-access=ALL-UNNAMED"))
                .isEqualTo(Runtime.version().feature() >= 22);
    }

    @Test
    void settingsAreInheritedButHeapSizesAndAgentsAreNot() throws Exception {
        List<String> command = LocalRanks.javaCommand(
                List.of("-Dep.timeout=7s", "-Xmx50m", "-Xint", "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n"),
                Shows.class.getName(),
                List.of());
        Process process = new ProcessBuilder(command).start();
        String shown = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(shown)
                .contains("-Dep.timeout=7s", "-Xint")
                .doesNotContain("-Xmx50m")
                .doesNotContain("jdwp=");
    }
}
