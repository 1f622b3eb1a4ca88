package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuMarker;
import org.ep4j.engine.gpu.GpuStream;
import org.ep4j.engine.gpu.PinnedMemory;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.spi.DeviceCode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A buffer on a GPU whose streams end their work when the test says so. */
@Timeout(60)
final class NvshmemBufferTest {
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final int READER = 2;

    @TempDir
    Path home;

    private final NvshmemProcess process = new NvshmemProcess();
    private final AtomicBoolean putsEnd = new AtomicBoolean(true);
    private final AtomicBoolean readsEnd = new AtomicBoolean(true);
    private final AtomicBoolean putsFail = new AtomicBoolean();
    private final ByteBuffer pinned = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
    private final List<String> events = new ArrayList<>();
    private int streams;

    @BeforeEach
    void load() throws Exception {
        process.load(FakeNvshmem.build(home, "3.4.5", "3.4.5", Map.of()));
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private GpuStream stream() {
        long handle = ++streams;
        return proxy(GpuStream.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "handle" -> handle;
            case "close" -> events.add("stream " + handle + " closed");
            default -> throw new AssertionError(method.getName() + " waits without a deadline");
        });
    }

    private GpuMarker marker() {
        long[] at = new long[1];
        return proxy(GpuMarker.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "record" -> {
                at[0] = (Long) arguments[0];
                yield null;
            }
            case "hasPassed" -> at[0] == 0 || (at[0] == READER ? readsEnd : putsEnd).get();
            case "close" -> null;
            default -> throw new AssertionError(method.getName());
        });
    }

    private PinnedMemory pinned() {
        return proxy(PinnedMemory.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "hostAddress" -> HostMemory.address(pinned);
            case "memory" -> HostMemory.of(new DeviceMemory(HostMemory.address(pinned), 8, Device.HOST));
            case "close" -> events.add("pinned closed");
            default -> throw new AssertionError(method.getName());
        });
    }

    private GpuDevice device() {
        return proxy(GpuDevice.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "inside" -> {
                if (putsFail.get()) {
                    throw new EpException("the driver failed");
                }
                yield ((Supplier<?>) arguments[0]).get();
            }
            case "id" -> new Device("cuda", 0);
            case "createStream" -> stream();
            case "createMarker" -> marker();
            case "allocatePinned" -> pinned();
            case "copy" -> pinned.putLong(0, 77);
            default -> throw new AssertionError(method.getName());
        });
    }

    private NvshmemBuffer buffer() {
        return new NvshmemBuffer(
                "b",
                new NvshmemBuffer.Place(1 << 20, 4096, 4096, 0, 2),
                process,
                device(),
                new DeviceCode("v", "", Map.of(), List.of(), List.of()),
                Map.of(1, new NvshmemBuffer.Peer(1, "rank 1 (host-1)")),
                SHORT,
                () -> events.add("range freed"),
                closed -> events.add("forgotten"));
    }

    @Test
    void everyWaitForPutsEndsAtItsDeadline() {
        NvshmemBuffer buffer = buffer();
        buffer.write(1, 0, 0, 64);
        putsEnd.set(false);
        assertThatThrownBy(() -> buffer.drain(1, SHORT))
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                    assertThat(e.peer()).isEqualTo(1);
                    assertThat(e.phase()).isEqualTo("drain");
                })
                .hasMessageContainingAll("rank 1 (host-1)", "50 ms", "buffer \"b\" of rank 0");
        assertThatThrownBy(() -> buffer.advance(1, 3, 9))
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                    assertThat(e.peer()).isEqualTo(1);
                    assertThat(e.phase()).isEqualTo("advance of counter 3");
                })
                .hasMessageContaining("ep.timeout");
        // A put that does not end delays no read of a counter.
        assertThat(buffer.seen(3, 1)).isEqualTo(77);
        putsEnd.set(true);
        buffer.advance(1, 3, 9);
        buffer.drain(1, SHORT);
    }

    @Test
    void aReadThatIsLateEndsAtItsDeadlineAndTheNextWaitsForIt() {
        NvshmemBuffer buffer = buffer();
        readsEnd.set(false);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> buffer.seen(5, 1))
                    .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                        assertThat(e.peer()).isEqualTo(1);
                        assertThat(e.phase()).isEqualTo("read of counter 5");
                    })
                    .hasMessageContainingAll("rank 1 (host-1)", "50 ms");
        }
        readsEnd.set(true);
        assertThat(buffer.seen(5, 1)).isEqualTo(77);
    }

    @Test
    void memoryThatIsStillReadIsNotGivenBack() {
        NvshmemBuffer buffer = buffer();
        buffer.write(1, 0, 0, 64);
        assertThatThrownBy(() -> {
                    readsEnd.set(false);
                    buffer.seen(5, 1);
                })
                .isInstanceOf(EpTimeoutException.class);
        putsEnd.set(false);
        buffer.close();
        assertThat(events).containsExactlyInAnyOrder("stream 1 closed", "stream 2 closed", "forgotten");
        events.clear();
        streams = 0;
        putsEnd.set(true);
        readsEnd.set(true);
        buffer().close();
        assertThat(events)
                .containsExactlyInAnyOrder(
                        "stream 1 closed", "stream 2 closed", "pinned closed", "range freed", "forgotten");
    }

    @Test
    void noCounterAdvancesPastAWriteThatFailed() {
        NvshmemBuffer buffer = buffer();
        putsFail.set(true);
        assertThatThrownBy(() -> buffer.write(1, 0, 0, 64)).hasMessage("the driver failed");
        putsFail.set(false);
        assertThatThrownBy(() -> buffer.advance(1, 3, 9))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContainingAll("rank 1", "the driver failed");
        buffer.drain(1, SHORT);
        buffer.advance(1, 3, 9);
    }

    @Test
    void aPeerCannotBeKeptFromWriting() {
        assertThat(buffer().canDisconnect()).isFalse();
        assertThat(buffer().staysMapped()).isFalse();
    }
}
