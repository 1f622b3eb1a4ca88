package org.ep4j.gpu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class KernelCacheTest {
    @TempDir
    Path folder;

    private final AtomicInteger compiled = new AtomicInteger();

    private byte[] code(long seed) {
        byte[] code = new byte[100_000];
        new Random(seed).nextBytes(code);
        return code;
    }

    private byte[] compile(long seed) {
        compiled.incrementAndGet();
        return code(seed);
    }

    @Test
    void cachedCodeIsNotCompiledAgain() {
        for (int i = 0; i < 3; i++) {
            KernelCache cache = new KernelCache(Optional.of(folder.resolve("deep/er")));
            assertThat(cache.get(List.of("source", "option"), () -> compile(1))).isEqualTo(code(1));
        }
        assertThat(compiled).hasValue(1);
    }

    @Test
    void everyPartOfTheKeyMatters() {
        KernelCache cache = new KernelCache(Optional.of(folder));
        List<List<String>> keys =
                List.of(List.of("a", "b"), List.of("ab", ""), List.of("", "ab"), List.of("ab"), List.of("b", "a"));
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < keys.size(); i++) {
                int seed = i;
                assertThat(cache.get(keys.get(i), () -> compile(seed))).isEqualTo(code(i));
            }
        }
        assertThat(compiled).hasValue(keys.size());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5, 32, 33, 70_000, 100_031})
    void aFileThatWasCutIsCompiledAgain(int length) throws IOException {
        KernelCache cache = new KernelCache(Optional.of(folder));
        cache.get(List.of("key"), () -> compile(1));
        Path file = only();
        Files.write(file, Arrays.copyOf(Files.readAllBytes(file), length));
        assertThat(cache.get(List.of("key"), () -> compile(1))).isEqualTo(code(1));
        assertThat(compiled).hasValue(2);
        assertThat(cache.get(List.of("key"), () -> compile(1))).isEqualTo(code(1));
        assertThat(compiled).as("repaired").hasValue(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 31, 32, 50_000, 100_031})
    void aFileWithOneWrongBitIsCompiledAgain(int position) throws IOException {
        KernelCache cache = new KernelCache(Optional.of(folder));
        cache.get(List.of("key"), () -> compile(1));
        Path file = only();
        byte[] bytes = Files.readAllBytes(file);
        bytes[position] ^= 4;
        Files.write(file, bytes);
        assertThat(cache.get(List.of("key"), () -> compile(1))).isEqualTo(code(1));
        assertThat(compiled).hasValue(2);
    }

    private Path only() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            List<Path> found = files.toList();
            assertThat(found).hasSize(1);
            return found.get(0);
        }
    }

    @Test
    void manyMayWriteAndReadOneFileAtOnce() throws InterruptedException, ExecutionException, IOException {
        new KernelCache(Optional.of(folder)).get(List.of("key"), () -> compile(1));
        Path file = only();
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Callable<byte[]>> work = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                boolean removes = i % 10 == 9;
                work.add(() -> {
                    byte[] code = new KernelCache(Optional.of(folder)).get(List.of("key"), () -> compile(1));
                    if (removes) {
                        Files.deleteIfExists(file);
                    }
                    return code;
                });
            }
            for (Future<byte[]> one : threads.invokeAll(work)) {
                assertThat(one.get()).isEqualTo(code(1));
            }
        } finally {
            threads.shutdownNow();
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).allSatisfy(left -> assertThat(left.toString()).endsWith(".bin"));
        }
    }

    @Test
    void ofConcurrentThreadsOneCompiles() throws InterruptedException, ExecutionException, IOException {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            Callable<byte[]> asks = () -> new KernelCache(Optional.of(folder)).get(List.of("key"), () -> slowly(1));
            for (Future<byte[]> one : threads.invokeAll(Collections.nCopies(8, asks))) {
                assertThat(one.get()).isEqualTo(code(1));
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(compiled).hasValue(1);
        only();
    }

    private byte[] slowly(long seed) {
        try {
            Thread.sleep(300);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return compile(seed);
    }

    @Test
    void ofConcurrentProcessesOneCompiles() throws IOException, InterruptedException {
        Path log = folder.resolve("log");
        List<Process> processes = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            processes.add(asker(log, 1500));
        }
        for (Process process : processes) {
            assertThat(process.waitFor()).isZero();
        }
        assertThat(Files.readAllLines(log)).hasSize(1);
    }

    @Test
    void aLockOfADeadProcessIsTakenOver() throws IOException, InterruptedException {
        Path log = folder.resolve("log");
        Process first = asker(log, Guard.minutes(10).toMillis());
        try {
            Guard.until("the first compiles", () -> Files.exists(log));
            Process second = asker(log, 0);
            assertThat(second.waitFor(1, TimeUnit.SECONDS))
                    .as("waits for the first")
                    .isFalse();
            first.destroyForcibly();
            assertThat(second.waitFor()).isZero();
        } finally {
            first.destroyForcibly();
        }
        assertThat(Files.readAllLines(log)).hasSize(2);
    }

    private Process asker(Path log, long millis) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Asker.class.getName(),
                        folder.resolve("cache").toString(),
                        log.toString(),
                        Long.toString(millis))
                .inheritIO()
                .start();
    }

    /** A process that asks for a kernel: the folder, a file that gets a line for each compilation, and how long one takes. */
    static final class Asker {
        private Asker() {}

        public static void main(String[] arguments) {
            byte[] code = new KernelCache(Optional.of(Path.of(arguments[0]))).get(List.of("key"), () -> {
                try {
                    Files.writeString(
                            Path.of(arguments[1]), "compiled\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                    Thread.sleep(Long.parseLong(arguments[2]));
                    return new byte[] {1, 2, 3};
                } catch (IOException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            System.exit(code.length == 3 ? 0 : 1);
        }
    }

    @Test
    void afterAWaitThatIsTooLongBothCompile() throws InterruptedException, ExecutionException {
        Path kernel = folder.resolve("kernel.bin");
        ExecutorService threads = Executors.newFixedThreadPool(1);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch ends = new CountDownLatch(1);
        try {
            Future<Boolean> holder = threads.submit(() -> KernelCache.locked(kernel, Guard.minute(), () -> {
                begun.countDown();
                try {
                    return ends.await(Guard.minute().toSeconds(), TimeUnit.SECONDS);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }));
            begun.await();
            assertThat(KernelCache.<Boolean>locked(kernel, Duration.ofMillis(100), () -> !holder.isDone()))
                    .isTrue();
            ends.countDown();
            assertThat(holder.get()).isTrue();
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void aFolderThatCannotBeCreatedCostsOnlyTime() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "no folder", StandardCharsets.UTF_8);
        KernelCache cache = new KernelCache(Optional.of(file.resolve("below")));
        assertThat(cache.get(List.of("key"), () -> compile(1))).isEqualTo(code(1));
        assertThat(cache.get(List.of("key"), () -> compile(1))).isEqualTo(code(1));
        assertThat(compiled).hasValue(2);
    }

    @Test
    void compilersAreDistinguishedByRealNameAndSizeNotByFolder() throws IOException {
        Path one = Files.createDirectories(folder.resolve("one"));
        Path two = Files.createDirectories(folder.resolve("two"));
        Files.writeString(one.resolve("libnvrtc.so.13.0.48"), "code", StandardCharsets.UTF_8);
        Files.writeString(two.resolve("libnvrtc.so.13.0.48"), "code", StandardCharsets.UTF_8);
        Files.writeString(two.resolve("libnvrtc.so.13.0.88"), "code", StandardCharsets.UTF_8);
        Path link = Files.createSymbolicLink(one.resolve("libnvrtc.so.13"), Path.of("libnvrtc.so.13.0.48"));
        String identity = KernelCache.identity(link);

        assertThat(KernelCache.identity(two.resolve("libnvrtc.so.13.0.48"))).isEqualTo(identity);
        assertThat(KernelCache.identity(two.resolve("libnvrtc.so.13.0.88"))).isNotEqualTo(identity);
        Files.writeString(two.resolve("libnvrtc.so.13.0.48"), "more code", StandardCharsets.UTF_8);
        assertThat(KernelCache.identity(two.resolve("libnvrtc.so.13.0.48"))).isNotEqualTo(identity);
    }

    @Test
    void linkedLibrariesAreDistinguishedByTheirContent() throws IOException {
        Path one = Files.writeString(folder.resolve("libnvshmem_device.a"), "code", StandardCharsets.UTF_8);
        Path two = Files.createDirectory(folder.resolve("two"));
        Path same = Files.writeString(two.resolve("libnvshmem_device.a"), "code", StandardCharsets.UTF_8);
        String content = KernelCache.content(one);

        assertThat(KernelCache.content(same)).isEqualTo(content);
        Files.writeString(same, "edoc", StandardCharsets.UTF_8);
        assertThat(KernelCache.content(same)).isNotEqualTo(content);
        assertThat(KernelCache.content(folder.resolve("none")))
                .isEqualTo(folder.resolve("none").toString());
    }

    @Test
    void theEnvironmentNamesTheFolder() throws IOException {
        KernelCache.of(Map.of("EP_CACHE_DIR", folder.toString())).get(List.of("key"), () -> compile(1));
        assertThat(only().toString()).endsWith(".bin");
        KernelCache.of(Map.of()).get(List.of("key"), () -> compile(1));
        assertThat(compiled).as("nothing is cached without a folder").hasValue(2);
    }
}
