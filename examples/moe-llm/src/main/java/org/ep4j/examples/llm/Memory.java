package org.ep4j.examples.llm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Memory of the machine. */
final class Memory {
    private Memory() {}

    /** Bytes that programs can still take, by {@code /proc/meminfo}; without that file, a number that refuses nothing. */
    static long available() {
        try {
            return Files.readAllLines(Path.of("/proc/meminfo")).stream()
                    .filter(line -> line.startsWith("MemAvailable:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
                    .findFirst()
                    .orElse(Long.MAX_VALUE);
        } catch (IOException e) {
            return Long.MAX_VALUE;
        }
    }
}
