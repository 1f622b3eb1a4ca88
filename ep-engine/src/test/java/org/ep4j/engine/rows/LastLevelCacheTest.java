package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
class LastLevelCacheTest {
    @TempDir
    private Path folder;

    private void cache(int index, String size, String map) throws IOException {
        Path cache = Files.createDirectories(folder.resolve("index" + index));
        Files.writeString(cache.resolve("size"), size + "\n");
        Files.writeString(cache.resolve("shared_cpu_map"), map + "\n");
    }

    @Test
    void theLargestCacheIsSharedByThoseThatRunAndNoMoreThanUseIt() throws IOException {
        cache(0, "32K", "1");
        cache(2, "1024K", "00000000,00000101");
        cache(3, "32768K", "00ff0000,000000ff");
        LastLevelCache cache = LastLevelCache.of(folder);
        assertThat(cache).isEqualTo(new LastLevelCache(32 << 20, 16));
        assertThat(cache.share(1)).isEqualTo(32 << 20);
        assertThat(cache.share(4)).isEqualTo(8 << 20);
        assertThat(cache.share(100)).isEqualTo(2 << 20);
    }

    @Test
    void unitsAreReadAndWhatIsNoSizeIsPassedOver() throws IOException {
        cache(0, "2M", "f");
        cache(1, "unknown", "f");
        assertThat(LastLevelCache.of(folder)).isEqualTo(new LastLevelCache(2 << 20, 4));
    }

    @Test
    void aMachineThatSaysNothingHasASmallCache() {
        assertThat(LastLevelCache.of(folder).share(8)).isEqualTo(2 << 20);
        assertThat(LastLevelCache.of(folder.resolve("none")).share(1)).isEqualTo(2 << 20);
    }
}
