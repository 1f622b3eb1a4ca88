package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class EnvironmentFileTest {
    @TempDir
    private Path folder;

    private Map<String, String> read(String text) throws IOException {
        return EnvironmentFile.read(Files.writeString(folder.resolve("environ"), text));
    }

    @Test
    void linesThatBeginNoVariableContinueTheValueBefore() throws IOException {
        assertThat(read("A=1\r\nf=() {\n  x\n}\n\nA=2\n")).isEqualTo(Map.of("A", "2", "f", "() {\n  x\n}"));
        assertThat(read("A=1\n  x\0B=\0")).isEqualTo(Map.of("A", "1\n  x", "B", ""));
    }

    /** Copying the value for each line would allocate 60 GB. */
    @Test
    void aValueOfManyLinesTakesMemoryInProportion() throws IOException {
        int lines = 250_000;
        String text = "A=" + "\n.".repeat(lines);
        Files.writeString(folder.resolve("environ"), text);
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        Map<String, String> variables = EnvironmentFile.read(folder.resolve("environ"));
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(1L << 30);
        assertThat(variables).isEqualTo(Map.of("A", text.substring(2)));
    }
}
