package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpShape;
import org.ep4j.engine.proxy.CommandRing;
import org.ep4j.engine.proxy.CommandRing.CommandSink;
import org.ep4j.engine.proxy.ProxyThreads;
import org.ep4j.gpu.cuda.CudaDevice;
import org.ep4j.gpu.cuda.EmulatedCuda;
import org.ep4j.gpu.cuda.FifoKernels;
import org.ep4j.gpu.driver.GpuModule;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Commands that kernels put into a ring, on an emulated GPU, with the threads of production at the other end. */
@Tag("verify")
final class FifoKernelTest {
    private static final int COMMANDS = 64;
    private static final int BLOCKS = 3;
    private static final int THREADS = 64;
    private static final int EACH = 20;
    private static final Duration LONG = Guard.minute();

    private CudaDevice device;
    private GpuModule module;
    private Launcher launcher;
    private PinnedMemory ringMemory;
    private PinnedMemory failure;
    private PinnedMemory abort;
    private DeviceAllocation memory;
    private CommandRing ring;

    @BeforeEach
    void load() {
        device = EmulatedCuda.open(0);
        EpShape shape = EpShape.builder(128, 7, 3).maxLowLatencyTokens(3).build();
        module = device.load(
                "fifo",
                KernelSource.of(shape, 3, device.info().sharedBytes(), Optional.empty(), Set.of())
                        + FifoKernels.OF_THE_ENGINE);
        launcher = new Launcher(device, Map.of("fifo_test", module));
        ringMemory = device.allocatePinned(CommandRing.bytes(COMMANDS));
        failure = device.allocatePinned(KernelFailures.BYTES);
        abort = device.allocatePinned(8 * 4);
        memory = device.allocate(4096);
        ring = new CommandRing(ringMemory.memory(), 0, COMMANDS);
    }

    @AfterEach
    void free() {
        memory.close();
        abort.close();
        failure.close();
        ringMemory.close();
        module.close();
        device.close();
    }

    /** The structure at 0, head and tail at 64, what threads counted at 128, the state of kernels from 1024 on. */
    private void launch(Duration deadline) {
        long at = memory.memory().address();
        ByteBuffer fifo = ByteBuffer.allocate(24).order(ByteOrder.nativeOrder());
        fifo.putLong(ringMemory.deviceAddress()).putLong(at + 64).putLong(COMMANDS);
        device.upload(fifo.flip(), memory.memory().slice(0, 24));
        Arguments arguments = new Arguments()
                .set(Param.STATE, at + 1024)
                .set(Param.FAILURE, failure.deviceAddress())
                .set(Param.ABORT, abort.deviceAddress())
                .set(Param.DEADLINE, deadline.toNanos())
                .set(Param.ROWS, EACH)
                .set(Param.STATISTICS, at + 128)
                .set(Param.EXTRA, at);
        launcher.launch("fifo_test", BLOCKS, THREADS, 0, 0, arguments, false);
    }

    private ByteBuffer read() {
        ByteBuffer bytes = ByteBuffer.allocate(4096).order(ByteOrder.nativeOrder());
        device.download(memory.memory(), bytes);
        return bytes.flip();
    }

    /** Every command once, with all of its fields; one thread, so no lock. */
    private static final class Seen implements CommandSink {
        private final Set<Long> writes = new HashSet<>();
        private final Set<Long> advances = new HashSet<>();
        private int wrong;

        @Override
        public void write(int index, int peer, long target, long source, long bytes) {
            long number = target / 16;
            boolean right = index == 0 && peer == 1 && source == 32 * number && bytes == 16 + 16 * number;
            wrong += right && writes.add(number) ? 0 : 1;
        }

        @Override
        public void advance(int index, int peer, int counter, long value) {
            // A thread of the GPU pushes its advance after its write, and the ring keeps the order.
            boolean right = index == 0 && peer == 2 && counter == value % 64 && writes.contains(value);
            wrong += right && advances.add(value) ? 0 : 1;
        }
    }

    private ProxyThreads proxies(Seen seen) {
        return new ProxyThreads(
                "test-proxy",
                1,
                List.of(ring),
                seen,
                thread -> false,
                (why, peer) -> seen.wrong++,
                Duration.ofMillis(1));
    }

    @Test
    void everyCommandOfManyThreadsIsTakenOnceFromASmallRing() {
        Seen seen = new Seen();
        ProxyThreads proxies = proxies(seen);
        launch(LONG);
        launch(LONG);
        int all = BLOCKS * THREADS * EACH;
        ByteBuffer left = read();
        assertThat(left.getInt(128)).isEqualTo(2 * all);
        assertThat(left.getLong(64)).isEqualTo(4L * all);
        // Two launches number their commands alike, so the second adds none.
        proxies.close(LONG);
        assertThat(failure.memory().getLong(0)).isZero();
        assertThat(ring.tail()).isGreaterThanOrEqualTo(4L * all - COMMANDS).isLessThanOrEqualTo(4L * all);
        assertThat(seen.writes).hasSize(all);
        assertThat(seen.advances).hasSize(all);
        assertThat(seen.wrong).isEqualTo((int) (ring.tail() - 2L * all));
    }

    @Test
    void aFullRingThatIsNotDrainedEndsTheKernelAtItsDeadline() {
        launch(Duration.ofMillis(100));
        ByteBuffer left = read();
        assertThat(left.getInt(128)).isLessThanOrEqualTo(COMMANDS / 2);
        assertThat(failure.memory().getLong(0)).isEqualTo(KernelFailures.Kind.RING.code());
        assertThat(failure.memory().getLong(8)).isEqualTo(1);
        assertThat(failure.memory().getLong(40)).as("commands taken").isZero();
        assertThat(failure.memory().getLong(48)).as("commands of the ring").isEqualTo(COMMANDS);
        assertThat(left.getLong(64))
                .as("places taken, also by those who gave up")
                .isGreaterThan(COMMANDS);

        // What the host does before the next operation.
        Seen seen = new Seen();
        ProxyThreads proxies = proxies(seen);
        proxies.restart(LONG);
        seen.writes.clear();
        seen.advances.clear();
        seen.wrong = 0;
        device.zero(memory.memory().address(), memory.memory().byteSize(), 0);
        failure.memory().zero(0, KernelFailures.BYTES);
        launch(LONG);
        int all = BLOCKS * THREADS * EACH;
        assertThat(read().getInt(128)).isEqualTo(all);
        Guard.until("all commands are taken", () -> ring.tail() == 2L * all);
        proxies.close(LONG);
        assertThat(seen.writes).hasSize(all);
        assertThat(seen.advances).hasSize(all);
        assertThat(seen.wrong).isZero();
    }

    @Test
    void theHostEndsAWaitForAFullRing() {
        abort.memory().putLongRelease(0, 1);
        launch(LONG);
        assertThat(read().getInt(128)).isLessThanOrEqualTo(COMMANDS / 2);
        assertThat(failure.memory().getLong(0)).isEqualTo(KernelFailures.Kind.RING.code());
    }
}
