package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import org.ep4j.BufferSize;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.DeathProof;
import org.ep4j.engine.sync.Rails;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.spi.Bootstrap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An Error, such as that of a process out of memory, while a buffer is made: all that was allocated for it is given back. */
@Timeout(120)
final class SetupErrorTest {
    private static final EpShape SHAPE =
            EpShape.builder(64, 4, 2).maxTokens(3).maxLowLatencyTokens(3).build();

    /** The GPU, of which the allocation of that number fails. */
    private static final class Failing {
        private final GpuDevice device;
        private final int failing;
        private final AtomicInteger allocations = new AtomicInteger();
        private final Set<Object> open = new HashSet<>();

        Failing(GpuDevice device, int failing) {
            this.device = device;
            this.failing = failing;
        }

        GpuDevice proxy() {
            return proxy(GpuDevice.class, device);
        }

        private <T> T proxy(Class<T> type, T real) {
            return type.cast(Proxy.newProxyInstance(
                    type.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> {
                        boolean allocates = method.getName().startsWith("allocate")
                                && !method.getName().equals("allocating");
                        if (allocates && allocations.incrementAndGet() == failing) {
                            throw new OutOfMemoryError("allocation number " + failing);
                        }
                        if (method.getName().equals("close")) {
                            open.remove(real);
                        }
                        try {
                            Object result = method.invoke(real, args);
                            if (allocates) {
                                open.add(result);
                                return result instanceof DeviceAllocation memory
                                        ? proxy(DeviceAllocation.class, memory)
                                        : proxy(PinnedMemory.class, (PinnedMemory) result);
                            }
                            return result;
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    }));
        }
    }

    @Test
    void everythingIsGivenBackWhicheverAllocationFails() {
        EmulatedGpu.require();
        Bootstrap bootstrap = Bootstraps.inProcess(1).get(0);
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .set("ep.device", EmulatedGpu.TYPE + ":0")
                .build();
        try (EpGroup group = EpGroup.join(bootstrap, config)) {
            GpuDevice device = (GpuDevice) group.device();
            int failed = 0;
            boolean made = false;
            while (!made) {
                Failing failing = new Failing(device, failed + 1);
                made = makes(group, bootstrap, config, failing);
                assertThat(failing.open)
                        .as("left after allocation %d failed", failed + 1)
                        .isEmpty();
                failed += made ? 0 : 1;
            }
            assertThat(failed).as("allocations of a buffer").isGreaterThan(8);
        }
    }

    private static boolean makes(EpGroup group, Bootstrap bootstrap, EpConfig config, Failing failing) {
        AtomicInteger freed = new AtomicInteger();
        long bytes = new BufferLayout(SHAPE, 1).bytes();
        try (DeviceAllocation symmetric = ((GpuDevice) group.device()).allocate(bytes)) {
            GpuBuffers.create(
                            group,
                            failing.proxy(),
                            bootstrap,
                            "buffer",
                            SHAPE,
                            new BufferSize(bytes, Map.of()),
                            Rails.none(),
                            new SymmetricMemory(0, 1, symmetric.memory(), Map.of(), Map.of(), Map.of()),
                            GpuWindows.NONE,
                            new NoFreshMemory(),
                            DeathProof.NONE,
                            freed::incrementAndGet,
                            config)
                    .close();
            assertThat(freed).as("symmetric memory given back").hasValue(1);
            return true;
        } catch (OutOfMemoryError e) {
            assertThat(e).hasMessage("allocation number " + failing.failing);
            assertThat(freed).as("symmetric memory left to the caller").hasValue(0);
            return false;
        }
    }

    /** One rank has nobody to move away from. */
    private static final class NoFreshMemory implements FreshGpuMemory {
        @Override
        public <T> T make(
                long epoch,
                Set<Integer> lost,
                Deadline deadline,
                BiFunction<SymmetricMemory, GpuWindows, T> use,
                Runnable undo) {
            throw new AssertionError("moves without " + lost);
        }

        @Override
        public SymmetricMemory make(long epoch, Set<Integer> lost, Deadline deadline) {
            throw new AssertionError("moves without " + lost);
        }

        @Override
        public void freeOlder() {
            throw new AssertionError("frees older memory");
        }

        @Override
        public void freeNewest() {
            throw new AssertionError("frees newer memory");
        }
    }
}
