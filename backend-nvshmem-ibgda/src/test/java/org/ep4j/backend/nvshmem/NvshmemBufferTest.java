package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.Device;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.EngineGpu.EngineEvent;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.spi.DeviceCode;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Waits of the host for a stream that makes no progress, with an NVSHMEM that answers and a GPU that does not. */
@Tag("verify")
final class NvshmemBufferTest {
    private static final int PEER = 1;
    /** Deadline of calls that have none of their own. */
    private static final Duration LONGEST = Duration.ofMillis(40);

    private static final NvshmemBuffer.Place PLACE = new NvshmemBuffer.Place(4096, 1024, 1024, 0, 2);

    @TempDir
    Path home;

    private final NvshmemProcess process = new NvshmemProcess();
    private NvshmemInstallation installation;
    private final ByteBuffer pinned = ByteBuffer.allocateDirect(Long.BYTES).order(ByteOrder.nativeOrder());
    /** Deadlines of the waits for the stream. */
    private final List<Duration> waits = new CopyOnWriteArrayList<>();

    private final CountDownLatch waiting = new CountDownLatch(1);
    private final AtomicInteger kept = new AtomicInteger();
    private final AtomicInteger released = new AtomicInteger();
    private volatile boolean failing;
    /** Done when the stream has done what was queued. */
    private volatile CompletableFuture<Void> progress = new CompletableFuture<>();

    @BeforeEach
    void load() throws Exception {
        installation = FakeNvshmem.build(home, "3.4.5", "3.4.5", Map.of());
        process.load(installation);
    }

    private NvshmemBuffer buffer() {
        return buffer(PEER, true);
    }

    private NvshmemBuffer buffer(int pe, boolean stores) {
        return new NvshmemBuffer(
                process,
                "b",
                PLACE,
                proxy(EngineGpu.class),
                DeviceCode.builder("1", "").build(),
                Map.of(
                        PEER,
                        new NvshmemBuffer.Peer(
                                pe,
                                stores,
                                "rank 1 on host b",
                                EpFailure.builder("device-posted writes", PEER).build())),
                LONGEST,
                released::incrementAndGet,
                buffer -> {});
    }

    private <T> T proxy(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> switch (method.getName()) {
                    case "inside" -> ((Supplier<?>) arguments[0]).get();
                    case "id" -> Device.cuda(0);
                    case "keepMemory" -> kept.incrementAndGet();
                    case "createStream" -> proxy(GpuStream.class);
                    case "createUntimedEvent" -> proxy(EngineEvent.class);
                    case "allocatePinned" -> proxy(PinnedMemory.class);
                    case "memory" -> HostMemory.of(pinned);
                    case "hostAddress" -> HostMemory.address(pinned);
                    case "handle" -> 7L;
                    case "isDone" -> progress.isDone();
                    case "await" -> {
                        waits.add((Duration) arguments[0]);
                        waiting.countDown();
                        EpEvent.of(progress).await((Duration) arguments[0]);
                        yield null;
                    }
                    case "record" -> {
                        if (failing) {
                            throw new EpException("the event cannot be recorded");
                        }
                        yield null;
                    }
                    case "copy" -> {
                        assertThat(arguments)
                                .containsExactly(
                                        HostMemory.address(pinned), PLACE.counter(3, PEER), (long) Long.BYTES, 7L);
                        pinned.putLong(0, 42);
                        yield null;
                    }
                    case "close" -> null;
                    // Also synchronize, which has no deadline.
                    default -> throw new AssertionError(method + " is not expected");
                }));
    }

    private void endsInTime(ThrowingCallable call, String phase, Duration deadline) {
        endsInTime(call, phase, deadline, deadline);
    }

    private void endsInTime(ThrowingCallable call, String phase, Duration shortest, Duration longest) {
        waits.clear();
        long start = System.nanoTime();
        assertThatThrownBy(call)
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContainingAll("cuda:0 makes no progress", "ep.timeout")
                .satisfies(e -> {
                    Matcher message = Pattern.compile(phase + " with rank 1 on host b did not end in (\\d+) ms")
                            .matcher(String.valueOf(e.getMessage()));
                    assertThat(message.find()).isTrue();
                    assertThat(Long.parseLong(message.group(1))).isBetween(shortest.toMillis(), longest.toMillis());
                })
                .satisfies(e ->
                        assertThat(((EpTimeoutException) e).failure().peer()).isEqualTo(PEER));
        assertThat(waits).singleElement().satisfies(wait -> assertThat(wait).isLessThanOrEqualTo(longest));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(shortest);
    }

    @Test
    void everyWaitForAStreamWithoutProgressEndsAtItsDeadline() {
        NvshmemBuffer buffer = buffer();
        endsInTime(() -> buffer.counter(3, PEER), "read of a counter", LONGEST);
        endsInTime(() -> buffer.signal(PEER, 3, 9), "advance of a counter", LONGEST);
        // A point in time: some of it may have passed when the wait begins, which then lasts one second at least.
        endsInTime(
                () -> buffer.flush(
                        PEER, System.nanoTime() + Duration.ofMillis(1300).toNanos()),
                "drain",
                Duration.ofMillis(1000),
                Duration.ofMillis(1300));
        // Where no time is left, what was queued a moment ago still gets a chance.
        endsInTime(() -> buffer.flush(PEER, System.nanoTime()), "drain", Duration.ofSeconds(1));
    }

    @Test
    void kernelsStoreOnlyToPeersThatAreMappedAndAllowIt() {
        assertThat(buffer(0, true).mappedOffset(PEER)).hasValue(0);
        assertThat(buffer(0, false).mappedOffset(PEER)).isEmpty();
        assertThat(buffer(1, true).mappedOffset(PEER)).as("PE 1 is not mapped").isEmpty();
    }

    @Test
    void memoryThatLateWorkMayWriteIsKept() {
        NvshmemBuffer buffer = buffer();
        endsInTime(() -> buffer.counter(3, PEER), "read of a counter", LONGEST);
        assertThat(kept).hasValue(1);
        buffer.close();
        assertThat(released).as("the stream may still write").hasValue(0);
    }

    @Test
    void memoryIsKeptWhereItIsNotKnownWhenQueuedWorkEnds() {
        NvshmemBuffer buffer = buffer();
        progress.complete(null);
        failing = true;
        assertThatThrownBy(() -> buffer.counter(3, PEER)).hasMessageContaining("cannot be recorded");
        buffer.close();
        assertThat(released).hasValue(0);
        assertThat(kept).hasValue(1);
    }

    @Test
    void memoryIsReleasedWhereLateWorkHasEnded() {
        NvshmemBuffer buffer = buffer();
        endsInTime(() -> buffer.counter(3, PEER), "read of a counter", LONGEST);
        progress.complete(null);
        buffer.close();
        assertThat(released).hasValue(1);
    }

    @Test
    void whatTheStreamHasReadIsReturned() {
        progress.complete(null);
        assertThat(buffer().counter(3, PEER)).isEqualTo(42);
    }

    @Test
    void aValueThatIsNotAboveTheLastOneIsLeftOut() {
        NvshmemBuffer buffer = buffer();
        progress.complete(null);
        for (long value : List.of(5L, 5L, 4L, 6L)) {
            buffer.signal(PEER, 3, value);
        }
        assertThat(FakeNvshmem.signals(installation)).containsExactly(5L, 6L);
        buffer.signal(PEER, 4, 1);
        assertThat(FakeNvshmem.signals(installation))
                .as("each counter by itself")
                .containsExactly(5L, 6L, 1L);
    }

    /** The stream still has it, so a lower value would set the counter back. */
    @Test
    void aValueThatHasNotEndedInTimeCountsAsSent() {
        NvshmemBuffer buffer = buffer();
        endsInTime(() -> buffer.signal(PEER, 3, 5), "advance of a counter", LONGEST);
        progress.complete(null);
        buffer.signal(PEER, 3, 4);
        buffer.signal(PEER, 3, 5);
        assertThat(FakeNvshmem.signals(installation)).containsExactly(5L);
    }

    @Test
    void aCallDoesNotWaitLongerForAnotherCallThanItsDeadline() throws Exception {
        NvshmemBuffer buffer = buffer();
        var executor = Executors.newSingleThreadExecutor();
        try {
            var other = executor.submit(() ->
                    buffer.flush(PEER, System.nanoTime() + Guard.minutes(5).toNanos()));
            assertThat(waiting.await(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            assertThatThrownBy(() -> buffer.counter(3, PEER))
                    .isInstanceOf(EpTimeoutException.class)
                    .hasMessageContainingAll("read of a counter with rank 1", "40 ms", "another call on this buffer");
            assertThat(kept).as("nothing was queued").hasValue(0);
            progress.complete(null);
            other.get(Guard.minute().toSeconds(), TimeUnit.SECONDS);
        } finally {
            executor.shutdownNow();
        }
    }
}
