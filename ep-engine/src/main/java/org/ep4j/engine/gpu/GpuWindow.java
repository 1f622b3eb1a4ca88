package org.ep4j.engine.gpu;

import java.util.List;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.SymmetricBuffer;

/**
 * Memory by which a GPU exchanges with peers that it does not map: the GPU's own, where NICs reach it, else pinned memory
 * of the host, which both reach on any machine. {@link WindowPlacement} decides.
 *
 * @param layout where everything lies, but the counters
 * @param exposed the memory, as backends register it
 * @param address where kernels see it
 * @param words counters, which threads of the host write and kernels poll; memory of the host, empty where kernels of the peers
 *     write them
 * @param counters the counters where kernels see them
 * @param posted by which kernels write the peers, where not the host does
 * @param flush makes this GPU see what has arrived, before the counters say so
 * @param free gives the memory back
 */
public record GpuWindow(
        WindowLayout layout,
        ExposedMemory exposed,
        long address,
        Optional<PinnedMemory> words,
        DeviceMemory counters,
        Optional<DevicePosted> posted,
        Runnable flush,
        Runnable free)
        implements AutoCloseable {
    /**
     * A window that threads of the host post from.
     *
     * @param words for the counters; closed with the window
     */
    static GpuWindow hostPosted(
            WindowLayout layout,
            ExposedMemory exposed,
            long address,
            PinnedMemory words,
            Runnable flush,
            Runnable free) {
        DeviceMemory counters = new DeviceMemory(words.deviceAddress(), layout.counterBytes(), Device.HOST);
        return new GpuWindow(layout, exposed, address, Optional.of(words), counters, Optional.empty(), flush, free);
    }

    /**
     * A window that a backend has allocated, whose kernels post.
     *
     * @param buffer which the caller closes
     * @throws EpUnavailableException when the backend's buffers are not {@link DevicePosted}, a defect of it
     */
    public static GpuWindow devicePosted(WindowLayout layout, SymmetricBuffer buffer) {
        DevicePosted posted = buffer.as(DevicePosted.class)
                .orElseThrow(() -> new EpUnavailableException(
                        buffer + " is none that kernels post from, a defect of its backend; exclude that"));
        DeviceMemory memory = buffer.local();
        return new GpuWindow(
                layout,
                ExposedMemory.of(memory),
                memory.address(),
                Optional.empty(),
                posted.counters(),
                Optional.of(posted),
                () -> {},
                () -> {});
    }

    /** In pinned memory of the host. */
    static GpuWindow onHost(GpuDevice device, WindowLayout layout) {
        PinnedMemory words = device.allocatePinned(layout.counterBytes());
        try {
            PinnedMemory pinned = device.allocatePinned(layout.bytes());
            DeviceMemory memory = new DeviceMemory(pinned.hostAddress(), layout.bytes(), Device.HOST);
            return hostPosted(layout, ExposedMemory.of(memory), pinned.deviceAddress(), words, () -> {}, pinned::close);
        } catch (RuntimeException | Error e) {
            words.close();
            throw e;
        }
    }

    /** What NICs and kernels reach of it, by every address that it has here. */
    List<DeviceMemory> reachable() {
        DeviceMemory seen =
                new DeviceMemory(address, layout.bytes(), exposed.memory().device());
        return List.of(exposed.memory(), seen, counters);
    }

    /** As peers of the buffer use it. */
    SymmetricMemory.Window asWindow() {
        return new SymmetricMemory.Window(
                exposed.memory(),
                words.map(pinned -> new DeviceMemory(pinned.hostAddress(), layout.counterBytes(), Device.HOST))
                        .orElse(counters),
                layout.staging(),
                layout.stagingBytes());
    }

    /** Gives all of it back; nothing may be registered any more. */
    @Override
    public void close() {
        try {
            free.run();
        } finally {
            words.ifPresent(PinnedMemory::close);
        }
    }
}
