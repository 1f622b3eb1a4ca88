package org.ep4j.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
class FutexTest {
    /** Longer than the test may take, so that a lost wake-up is seen. */
    private static final Duration FOR_EVER = Duration.ofHours(1);

    private static final int BYTES = 4096;
    private static final int FIRST = 0;
    private static final int SECOND = 64;
    private static final int ROUNDS = 2_000;

    @TempDir
    private Path folder;

    /** Mapped for as long as the JVM runs, since a thread of a test that has failed may still sleep there. */
    private static final List<ByteBuffer> MAPPINGS = new CopyOnWriteArrayList<>();

    private static Optional<Futex> futex(Duration longest) {
        Optional<Futex> futex = Futex.ofThisMachine(longest);
        boolean known = System.getProperty("os.arch").matches("amd64|aarch64");
        assertThat(futex.isPresent())
                .isEqualTo(known && System.getProperty("os.name").equals("Linux"));
        assumeTrue(futex.isPresent(), "the number of the system call is not known here");
        return futex;
    }

    /** A mapping of its own of a file, as every process has. */
    private HostMemory map(Duration longest) throws IOException {
        try (FileChannel file = FileChannel.open(
                folder.resolve("shared"),
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                StandardOpenOption.CREATE)) {
            ByteBuffer mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES);
            MAPPINGS.add(mapped);
            return HostMemory.of(DeviceMemory.of(HostMemory.address(mapped), BYTES, Device.HOST), futex(longest));
        }
    }

    private static void await(HostMemory memory, long counter, long value) {
        for (long seen = memory.getLongAcquire(counter); seen < value; seen = memory.getLongAcquire(counter)) {
            assertThat(memory.sleep(counter, seen)).isTrue();
        }
    }

    /** Runs work on a thread that does not keep the JVM alive when the test has failed. */
    private static FutureTask<Boolean> start(Runnable work) {
        FutureTask<Boolean> task = new FutureTask<>(work, true);
        Thread thread = new Thread(task, "sleeps");
        thread.setDaemon(true);
        thread.start();
        return task;
    }

    private static void join(FutureTask<?> work) throws Exception {
        work.get(Guard.minute().toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    void everyAdvanceWakesTheThreadThatSleepsWhateverItsMapping() throws Exception {
        HostMemory here = map(FOR_EVER);
        HostMemory there = map(FOR_EVER);
        FutureTask<Boolean> answers = start(() -> {
            for (int round = 1; round <= ROUNDS; round++) {
                await(there, FIRST, round);
                there.advance(SECOND, round);
            }
        });
        join(start(() -> {
            for (int round = 1; round <= ROUNDS; round++) {
                here.advance(FIRST, round);
                await(here, SECOND, round);
            }
        }));
        join(answers);
    }

    /** A sleep may end early, but not every time. */
    @Test
    void sleepsEndAfterTheirTime() throws Exception {
        Duration time = Duration.ofMillis(50);
        HostMemory memory = map(time);
        Duration longest = Duration.ZERO;
        for (int tries = 0; tries < 20 && longest.compareTo(time) < 0; tries++) {
            long start = System.nanoTime();
            assertThat(memory.sleep(FIRST, 0)).isTrue();
            longest = Duration.ofNanos(System.nanoTime() - start);
        }
        assertThat(longest).isGreaterThanOrEqualTo(time);
        assertThat(memory.getLong(FIRST + Long.BYTES)).as("nobody sleeps").isZero();
    }

    @Test
    void nobodySleepsForACounterThatHasChanged() throws Exception {
        HostMemory memory = map(FOR_EVER);
        memory.advance(FIRST, 7);
        join(start(() -> assertThat(memory.sleep(FIRST, 6)).isTrue()));
    }

    @Test
    void saysWhereTheSystemRefusesToSleep() {
        assertThat(futex(FOR_EVER).orElseThrow().sleep(Integer.BYTES, 0)).isFalse();
    }

    @Test
    void memoryWithoutAFutexIsNotSleptFor() {
        HostMemory memory = HostMemory.of(ByteBuffer.allocateDirect(BYTES));
        assertThat(memory.sleep(FIRST, 0)).isFalse();
        memory.advance(FIRST, 3);
        assertThat(memory.getLong(FIRST)).isEqualTo(3);
    }
}
