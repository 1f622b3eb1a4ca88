package org.ep4j.engine.life;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** One rank looks at the locks of others, in this process and in another one. */
@EnabledOnOs(OS.LINUX)
@Timeout(60)
final class LifeLocksTest {
    private static final String HOST = "this-host";

    @TempDir
    private Path folder;

    private LifeLocks locks() {
        return LifeLocks.create(HOST, List.of(folder));
    }

    private static void free(LifeLocks locks) {
        locks.close();
    }

    private long names() throws IOException {
        try (var files = Files.list(folder)) {
            return files.count();
        }
    }

    @Test
    void aRankIsGoneOnceItHasFreedItsLockAndNotBefore() {
        try (LifeLocks mine = locks();
                LifeLocks theirs = locks()) {
            mine.open(0, List.of(mine.announcement(), theirs.announcement()));
            assertThat(mine.isGone(1)).isFalse();
            free(theirs);
            assertThat(mine.isGone(1)).isTrue();
            assertThat(mine.isGone(1)).as("asked again").isTrue();
        }
    }

    @Test
    void aLockThatIsKeptIsHeldUntilItsFileIsClosed() {
        try (LifeLocks mine = locks();
                LifeLocks theirs = locks()) {
            mine.open(0, List.of(mine.announcement(), theirs.announcement()));
            theirs.keep();
            assertThat(mine.isHeld(1)).isTrue();
            assertThat(mine.isGone(1)).isFalse();
            free(theirs);
            assertThat(mine.isHeld(1)).isFalse();
            assertThat(mine.isGone(1)).isTrue();
        }
    }

    @Test
    void lookingAtALockLeavesItToItsHolder() {
        try (LifeLocks mine = locks();
                LifeLocks theirs = locks();
                LifeLocks third = locks()) {
            List<byte[]> all = List.of(mine.announcement(), theirs.announcement(), third.announcement());
            mine.open(0, all);
            third.open(2, all);
            for (int i = 0; i < 100; i++) {
                assertThat(mine.isGone(1)).isFalse();
                assertThat(third.isGone(1)).isFalse();
            }
            free(theirs);
            assertThat(mine.isGone(1)).isTrue();
            assertThat(third.isGone(1)).as("one who looks later").isTrue();
        }
    }

    @Test
    void nothingIsKnownOfARankWhoseFileIsAnotherOneOrOnAnotherHost() throws IOException {
        try (LifeLocks mine = locks();
                LifeLocks theirs = locks();
                LifeLocks far = LifeLocks.create("another-host", List.of(folder))) {
            Path path = Path.of(new String(theirs.announcement(), StandardCharsets.UTF_8).split("\n", -1)[2]);
            Files.delete(path);
            Files.createFile(path);
            mine.open(0, List.of(mine.announcement(), theirs.announcement(), far.announcement()));
            free(theirs);
            free(far);
            assertThat(mine.isGone(1))
                    .as("its name is that of a new file, whose lock is free")
                    .isFalse();
            assertThat(mine.isGone(2))
                    .as("its path is that of another host's folder")
                    .isFalse();
        }
    }

    @Test
    void theNameGoesAndTheLockStays() throws IOException {
        try (LifeLocks mine = locks();
                LifeLocks theirs = locks()) {
            mine.open(0, List.of(mine.announcement(), theirs.announcement()));
            mine.removeName();
            theirs.removeName();
            assertThat(names()).isZero();
            assertThat(mine.isGone(1)).isFalse();
        }
    }

    @Test
    void whereNoFolderCanBeWrittenNothingIsAnnounced() throws IOException {
        Path file = Files.createFile(folder.resolve("no-folder"));
        try (LifeLocks mine = locks();
                LifeLocks theirs = LifeLocks.create(HOST, List.of(file))) {
            mine.open(0, List.of(mine.announcement(), theirs.announcement()));
            free(theirs);
            assertThat(mine.isGone(1)).isFalse();
        }
    }

    @Test
    void aStoppedProcessIsNotGoneAndAKilledOneIs() throws Exception {
        Process child = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holder.class.getName(),
                        folder.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (LifeLocks mine = locks();
                BufferedReader lines =
                        new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
            mine.open(0, List.of(mine.announcement(), HexFormat.of().parseHex(lines.readLine())));
            signal("STOP", child);
            for (int i = 0; i < 20; i++) {
                assertThat(mine.isGone(1)).as("while it is stopped").isFalse();
                TimeUnit.MILLISECONDS.sleep(10);
            }
            child.destroyForcibly().waitFor();
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
            while (!mine.isGone(1)) {
                assertThat(System.nanoTime()).as("time until its end is known").isLessThan(end);
                TimeUnit.MILLISECONDS.sleep(1);
            }
        } finally {
            child.destroyForcibly();
        }
    }

    private static void signal(String name, Process to) throws Exception {
        assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(to.pid()))
                        .inheritIO()
                        .start()
                        .waitFor())
                .isZero();
    }

    /** Holds a lock until it is ended. */
    static final class Holder {
        private Holder() {}

        public static void main(String[] args) throws InterruptedException {
            LifeLocks locks = LifeLocks.create(HOST, List.of(Path.of(args[0])));
            System.out.println(HexFormat.of().formatHex(locks.announcement()));
            TimeUnit.MINUTES.sleep(1);
            locks.close();
        }
    }
}
