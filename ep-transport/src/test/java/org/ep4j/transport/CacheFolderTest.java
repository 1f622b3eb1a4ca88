package org.ep4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class CacheFolderTest {
    @Test
    void theOwnVariableGoesFirst() {
        assertThat(CacheFolder.of(Map.of("EP_CACHE_DIR", "/a", "XDG_CACHE_HOME", "/b", "HOME", "/c")))
                .contains(Path.of("/a"));
    }

    @Test
    void withoutTheOwnVariableTheFolderIsInTheUsersCache() {
        assertThat(CacheFolder.of(Map.of("XDG_CACHE_HOME", "/b", "HOME", "/c"))).contains(Path.of("/b/ep4j"));
        assertThat(CacheFolder.of(Map.of("HOME", "/c"))).contains(Path.of("/c/.cache/ep4j"));
    }

    @Test
    void blankVariablesCountAsNotSet() {
        assertThat(CacheFolder.of(Map.of("EP_CACHE_DIR", " ", "XDG_CACHE_HOME", "", "HOME", "/c")))
                .contains(Path.of("/c/.cache/ep4j"));
        assertThat(CacheFolder.of(Map.of("EP_CACHE_DIR", "", "HOME", " "))).isEmpty();
    }

    @Test
    void withoutItsVariablesThereIsNoCacheFolder() {
        assertThat(CacheFolder.of(Map.of("PATH", "/bin"))).isEmpty();
    }

    @Test
    void aValueThatIsNoPathIsLoggedOnceAndThereIsNone() {
        String bad = "a\0b";
        try (Log log = new Log()) {
            assertThat(CacheFolder.of(Map.of("EP_CACHE_DIR", bad, "XDG_CACHE_HOME", "/b", "HOME", "/c")))
                    .isEmpty();
            assertThat(CacheFolder.of(Map.of("XDG_CACHE_HOME", bad, "HOME", "/c")))
                    .isEmpty();
            assertThat(CacheFolder.of(Map.of("HOME", bad))).isEmpty();
            assertThat(log.lines)
                    .satisfiesExactly(
                            line -> assertThat(line)
                                    .startsWith("WARNING ")
                                    .contains("folder: EP_CACHE_DIR is \"" + bad + "\""),
                            line -> assertThat(line)
                                    .startsWith("WARNING ")
                                    .contains("folder: XDG_CACHE_HOME is \"" + bad + "\""),
                            line -> assertThat(line)
                                    .startsWith("WARNING ")
                                    .contains("folder: HOME is \"" + bad + "\""));
        }
    }

    /** Collects what is logged about the folder, and keeps it off the console. */
    private static final class Log extends Handler implements AutoCloseable {
        private final Logger logger = Logger.getLogger("org.ep4j");
        private final List<String> lines = new ArrayList<>();

        Log() {
            logger.addHandler(this);
            logger.setUseParentHandlers(false);
        }

        @Override
        public void publish(LogRecord entry) {
            if (entry.getMessage().startsWith("there is no cache folder")) {
                lines.add(entry.getLevel() + " " + entry.getMessage());
            }
        }

        @Override
        public void flush() {
            // Nothing is buffered.
        }

        @Override
        public void close() {
            logger.removeHandler(this);
            logger.setUseParentHandlers(true);
        }
    }
}
