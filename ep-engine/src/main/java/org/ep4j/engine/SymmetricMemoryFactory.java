package org.ep4j.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.EngineDevice;

/** Allocates and registers symmetric memory of this rank, and maps or connects that of its peers, through the open backends of a group. */
final class SymmetricMemoryFactory {
    private final EngineDevice device;
    private final OpenBackends backends;
    private final UsablePaths paths;

    /**
     * Ranks that create memory together.
     *
     * @param ranks ascending, this one among them
     * @param steps of these ranks
     * @param step name of the step after allocation, unique in the life of {@code steps}
     * @param left time that this step may take
     * @param name of the memory, unique among the buffers of the group
     * @param among returns a backend as these ranks use it
     */
    record Members(
            List<Integer> ranks,
            CollectiveSteps steps,
            String step,
            Supplier<Duration> left,
            String name,
            UnaryOperator<EpBackend> among) {
        private <C> C as(Class<C> capability, EpBackend backend) {
            return among.apply(backend).as(capability).orElseThrow();
        }
    }

    /** Memory with what frees it, called once. */
    record Created(SymmetricMemory memory, Runnable free) {}

    SymmetricMemoryFactory(EngineDevice device, OpenBackends backends, UsablePaths paths) {
        this.device = device;
        this.backends = backends;
        this.paths = paths;
    }

    /**
     * Creates memory. If a rank has too little of it, this call fails at once on all ranks, before anything is registered. Backends
     * deregister memory before it is freed, also when this call fails: a NIC may still write to registered memory.
     *
     * @param bytes of this rank's memory, without the window
     * @param window by which GPUs exchange rows with peers that are not mapped; freed with the memory
     * @param given buffers that a backend has exposed already, which are closed with the memory
     * @throws org.ep4j.EpUnavailableException if another rank could not allocate its memory, with its reason
     */
    Created create(long bytes, Optional<GpuWindow> window, List<SymmetricBuffer> given, Members members) {
        List<SymmetricBuffer> exposed = new ArrayList<>(given);
        Map<String, SymmetricBuffer> byBackend = new TreeMap<>();
        Optional<EpBackend> allocator = backends.allocator(Purpose.MAPPED);
        DeviceMemory local;
        Runnable freeWindow = () -> window.ifPresent(GpuWindow::close);
        Runnable freeLocal = freeWindow;
        try {
            if (allocator.isPresent()) {
                SymmetricBuffer own = members.as(AllocatesMemory.class, allocator.get())
                        .allocate(
                                members.name(),
                                bytes,
                                Purpose.MAPPED,
                                members.left().get());
                exposed.add(own);
                byBackend.put(allocator.get().id(), own);
                local = own.local();
            } else {
                DeviceAllocation allocation = device.allocate(bytes);
                local = allocation.memory();
                freeLocal = () -> {
                    allocation.close();
                    freeWindow.run();
                };
            }
        } catch (RuntimeException | Error e) {
            // After a timeout or loss in a step of the backend that allocates, other ranks may still be in that step.
            if (!(e instanceof EpTimeoutException || e instanceof EpPeerLostException)) {
                members.steps().refuse(members.step(), e, members.left().get());
            }
            release(exposed, freeWindow);
            throw e;
        }
        // With an owner, so that a use of its tensors after the buffer is closed is detected.
        Runnable freeAll = freeLocal;
        DeviceAllocation tracked = new DeviceAllocation(local, "memory of a buffer", () -> {
            release(exposed, freeAll);
            backends.release();
        });
        SymmetricMemory reached;
        try {
            members.steps().exchange(members.step(), new byte[0], members.left().get());
            ExposedMemory memory = window.map(GpuWindow::exposed).orElseGet(() -> ExposedMemory.of(local));
            for (EpBackend backend : backends.registering()) {
                SymmetricBuffer registered = members.as(RegistersMemory.class, backend)
                        .register(members.name(), memory, members.left().get());
                exposed.add(registered);
                byBackend.put(backend.id(), registered);
            }
            reached = paths.reach(tracked.memory(), byBackend, window, members.ranks());
        } catch (RuntimeException | Error e) {
            try {
                release(exposed, freeLocal);
            } catch (RuntimeException other) {
                e.addSuppressed(other);
            }
            throw e;
        }
        backends.retain();
        return new Created(reached, tracked::close);
    }

    private static void release(List<SymmetricBuffer> exposed, Runnable freeLocal) {
        // In reverse order: NICs deregister memory before it is unmapped.
        for (int i = exposed.size() - 1; i >= 0; i--) {
            exposed.get(i).close();
        }
        freeLocal.run();
    }
}
