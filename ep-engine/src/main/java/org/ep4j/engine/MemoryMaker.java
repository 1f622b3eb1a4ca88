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
import org.ep4j.transport.memory.TrackedMemory;

/** Makes symmetric memory of this rank and reaches that of its peers, through the open backends of a group. */
final class MemoryMaker {
    private final EngineDevice device;
    private final OpenBackends backends;
    private final UsablePaths paths;

    /**
     * Ranks that make memory together.
     *
     * @param ranks ascending, this one among them
     * @param agreement of these ranks
     * @param step name of the step in which they tell each other that they have allocated memory, unique in the life of the agreement
     * @param left time that this step may take
     * @param name of the memory, unique among the buffers of the group
     * @param among a backend as these ranks use it
     */
    record Members(
            List<Integer> ranks,
            Agreement agreement,
            String step,
            Supplier<Duration> left,
            String name,
            UnaryOperator<EpBackend> among) {
        Members {
            ranks = List.copyOf(ranks);
        }

        private <C> C as(Class<C> capability, EpBackend backend) {
            return among.apply(backend).as(capability).orElseThrow();
        }
    }

    /**
     * Memory that has been made.
     *
     * @param free gives it back; called once
     */
    record Made(SymmetricMemory memory, Runnable free) {}

    MemoryMaker(EngineDevice device, OpenBackends backends, UsablePaths paths) {
        this.device = device;
        this.backends = backends;
        this.paths = paths;
    }

    /**
     * Makes memory. If a rank has too little of it, this call fails at once on all ranks, before anything is registered. Backends let go
     * of memory before it is freed, here too when this call fails: a NIC may still write to what it has registered.
     *
     * @param bytes of this rank's memory, not of the window
     * @param window by which GPUs exchange with peers that are not mapped; freed with the memory
     * @param given what a backend has exposed already, which is closed with the memory
     * @throws org.ep4j.EpUnavailableException if another rank could not allocate its memory, with its reason
     */
    Made make(long bytes, Optional<GpuWindow> window, List<SymmetricBuffer> given, Members members) {
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
            // Where a step of the backend that allocates did not end, ranks may still be at it.
            if (!(e instanceof EpTimeoutException || e instanceof EpPeerLostException)) {
                members.agreement().refuse(members.step(), e, members.left().get());
            }
            letGo(exposed, freeWindow);
            throw e;
        }
        // What NICs and peers reach: with an owner, so that a tensor in it is known to be gone after the buffer.
        Runnable freeAll = freeLocal;
        TrackedMemory tracked = new TrackedMemory(local, "memory of a buffer", () -> {
            letGo(exposed, freeAll);
            backends.release();
        });
        SymmetricMemory made;
        try {
            members.agreement()
                    .exchange(members.step(), new byte[0], members.left().get());
            ExposedMemory registered = window.map(GpuWindow::exposed).orElseGet(() -> ExposedMemory.of(local));
            register(registered, exposed, byBackend, members);
            made = paths.reach(tracked.memory(), byBackend, window, members.ranks());
        } catch (RuntimeException | Error e) {
            try {
                letGo(exposed, freeLocal);
            } catch (RuntimeException other) {
                e.addSuppressed(other);
            }
            throw e;
        }
        backends.retain();
        return new Made(made, tracked::close);
    }

    private static void letGo(List<SymmetricBuffer> exposed, Runnable freeLocal) {
        // NICs let go of memory before it is unmapped.
        for (int i = exposed.size() - 1; i >= 0; i--) {
            exposed.get(i).close();
        }
        freeLocal.run();
    }

    private void register(
            ExposedMemory memory,
            List<SymmetricBuffer> exposed,
            Map<String, SymmetricBuffer> byBackend,
            Members members) {
        for (EpBackend backend : backends.registering()) {
            SymmetricBuffer registered = members.as(RegistersMemory.class, backend)
                    .register(members.name(), memory, members.left().get());
            exposed.add(registered);
            byBackend.put(backend.id(), registered);
        }
    }
}
