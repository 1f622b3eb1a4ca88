package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
class LastLevelCachesTest {
    @TempDir
    private Path folder;

    private void cache(int thread, int index, String size, String sharers) throws IOException {
        Path cache = Files.createDirectories(folder.resolve("cpu" + thread + "/cache/index" + index));
        Files.writeString(cache.resolve("size"), size + "\n");
        Files.writeString(cache.resolve("shared_cpu_list"), sharers + "\n");
    }

    @Test
    void ranksThatShareACacheShareItsSize() throws IOException {
        cache(0, 0, "32K", "0,16");
        cache(0, 2, "1024K", "0,16");
        cache(0, 3, "32768K", "0-7,16-23");
        LastLevelCaches caches = LastLevelCaches.of(folder);
        assertThat(caches).isEqualTo(new LastLevelCaches(32 << 20, 1, 16));
        assertThat(caches.share(1)).isEqualTo(32 << 20);
        assertThat(caches.share(4)).isEqualTo(8 << 20);
        assertThat(caches.share(100)).isEqualTo(2 << 20);
    }

    @Test
    void ranksAreSpreadOverTheCachesOfTheHost() throws IOException {
        for (int thread = 0; thread < 64; thread++) {
            int first = thread / 8 * 8;
            cache(thread, 2, "512K", String.valueOf(thread));
            cache(thread, 3, "32M", first + "-" + (first + 7));
        }
        Files.createDirectories(folder.resolve("cpufreq"));
        Files.createDirectories(folder.resolve("cpu64"));
        LastLevelCaches caches = LastLevelCaches.of(folder);
        assertThat(caches).isEqualTo(new LastLevelCaches(32 << 20, 8, 8));
        assertThat(caches.share(1)).isEqualTo(32 << 20);
        assertThat(caches.share(8)).isEqualTo(32 << 20);
        assertThat(caches.share(9)).isEqualTo(16 << 20);
        assertThat(caches.share(64)).isEqualTo(4 << 20);
        assertThat(caches.share(1000)).isEqualTo(4 << 20);
    }

    @Test
    void unitsAreReadAndWhatIsNoSizeIsPassedOver() throws IOException {
        cache(0, 0, "2M", "0-3");
        cache(0, 1, "unknown", "0-3");
        assertThat(LastLevelCaches.of(folder)).isEqualTo(new LastLevelCaches(2 << 20, 1, 4));
    }

    @Test
    void aHostThatSaysNothingHasSmallCaches() throws IOException {
        assertThat(LastLevelCaches.of(folder).share(8)).isEqualTo(2 << 20);
        assertThat(LastLevelCaches.of(folder.resolve("none")).share(1)).isEqualTo(2 << 20);
        cache(0, 0, "none", "0");
        assertThat(LastLevelCaches.of(folder).share(1)).isEqualTo(2 << 20);
    }
}
