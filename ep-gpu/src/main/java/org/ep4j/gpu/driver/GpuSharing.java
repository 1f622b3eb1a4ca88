package org.ep4j.gpu.driver;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntSupplier;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.gpu.driver.MemoryHandle.Kind;
import org.ep4j.topology.model.PciAddress;

/**
 * Shares memory of one GPU with other ranks, which load and store it, and maps theirs. Safe for use from several
 * threads.
 *
 * <p>How memory is shared depends on its users. Threads of the owner's process use its address, with peer access
 * between the GPUs. Other processes of the host open a {@code cuIpc} or {@code hipIpc} handle, on any GPU, also the owner's. Processes
 * of other hosts in the NVLink domain map a fabric handle. Every rank may close in any order, and die at any time: inside a
 * process the last user frees, and the driver keeps pages for as long as a process has them mapped. (The content of a {@code cuIpc}
 * allocation whose owner has freed it is undefined; ep4j does not read it.)
 */
public final class GpuSharing {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final DriverDevice device;

    private GpuSharing(DriverDevice device) {
        this.device = device;
    }

    /**
     * Creates it for a device.
     *
     * @param type of devices that the caller can use: {@code cuda} or {@code hip}
     * @throws EpArgumentException when it is another
     */
    public static GpuSharing of(EpDevice device, String type) {
        if (device instanceof DriverDevice gpu && gpu.id().type().equals(type)) {
            return new GpuSharing(gpu);
        }
        throw new EpArgumentException("device", device.id(), "a device of type " + type, "set ep.device to " + type);
    }

    /**
     * Names this process among all processes of the host, also where containers number processes each for themselves: two
     * ranks with equal names reach each other's memory by its address.
     */
    public static String process() {
        ProcessHandle self = ProcessHandle.current();
        long started = self.info().startInstant().map(Instant::toEpochMilli).orElse(0L);
        return namespace("pid") + "/" + self.pid() + "/" + started;
    }

    /** A namespace of this process as the kernel names it, {@code pid:[4026531836]}; empty where there are none. */
    public static String namespace(String kind) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/ns", kind)).toString();
        } catch (IOException | UnsupportedOperationException | SecurityException e) {
            return "";
        }
    }

    /**
     * Allocates zeroed memory.
     *
     * @param bytes its length, above 0
     * @param kind who will map it
     * @throws org.ep4j.EpResourceException when the GPU has too little memory
     * @throws EpException when the driver cannot share in this way
     */
    public SharedMemory allocate(long bytes, Kind kind) {
        if (bytes <= 0) {
            throw new EpArgumentException("bytes", bytes, "> 0", "pass the size of the memory");
        }
        // A context of its own: the memory may be used for longer than the device is open.
        DriverContext context =
                new DriverContext(device.context().driver(), device.id().ordinal());
        try {
            return kind == Kind.FABRIC ? allocateFabric(context, bytes) : allocatePlain(context, bytes, kind);
        } catch (RuntimeException | Error e) {
            context.close();
            throw e;
        }
    }

    private SharedMemory allocatePlain(DriverContext context, long bytes, Kind kind) {
        GpuDriver driver = context.driver();
        long address = context.read(
                () -> "allocation of " + bytes + " bytes on " + device.id() + context.freeText(),
                out -> driver.allocateShared(out, bytes));
        try {
            zero(context, address, bytes);
            long[] base = new long[1];
            long[] whole = new long[1];
            context.call("looking for the allocation", () -> driver.memGetAddressRange(base, whole, address));
            byte[] handle = new byte[kind == Kind.IPC ? MemoryHandle.HANDLE_BYTES : 0];
            if (kind == Kind.IPC) {
                // Handle of the base: small allocations share one, and importers map all of it.
                context.call("making a handle for other processes", () -> driver.ipcGetMemHandle(handle, base[0]));
            }
            MemoryHandle shared = new MemoryHandle(
                    kind,
                    process(),
                    gpu(context),
                    address,
                    address - base[0],
                    bytes,
                    whole[0],
                    HexFormat.of().formatHex(handle));
            Runnable release = LocalAllocations.add(address, () -> {
                closing(context, "freeing shared memory", () -> driver.free(address));
                context.close();
            });
            return new SharedMemory(memory(address, bytes), shared, release);
        } catch (RuntimeException | Error e) {
            closing(context, "freeing shared memory", () -> driver.free(address));
            throw e;
        }
    }

    private SharedMemory allocateFabric(DriverContext context, long bytes) {
        DriverDevice.DomainMemory fabric = device.mapDomainMemory(context, bytes, Optional.empty());
        try {
            zero(context, fabric.address(), bytes);
            MemoryHandle shared = new MemoryHandle(
                    Kind.FABRIC, process(), gpu(context), fabric.address(), 0, bytes, fabric.bytes(), fabric.export());
            return new SharedMemory(memory(fabric.address(), bytes), shared, () -> {
                fabric.close();
                context.close();
            });
        } catch (RuntimeException | Error e) {
            fabric.close();
            throw e;
        }
    }

    /** Returns when it is done: other GPUs write as soon as they know the memory, which must not be zeroed after that. */
    private static void zero(DriverContext context, long address, long bytes) {
        GpuDriver driver = context.driver();
        long stream = context.createStream();
        try {
            context.call("zeroing " + bytes + " bytes", () -> {
                int result = driver.memsetD8Async(address, (byte) 0, bytes, stream);
                return result == 0 ? driver.streamSynchronize(stream) : result;
            });
        } finally {
            context.result(() -> driver.streamDestroy(stream));
        }
    }

    /**
     * Maps memory of another rank for this GPU.
     *
     * @throws EpException when it cannot be mapped, with the remedy
     */
    public SharedMemory map(MemoryHandle handle) {
        DriverContext context =
                new DriverContext(device.context().driver(), device.id().ordinal());
        try {
            if (handle.kind() == Kind.FABRIC) {
                DriverDevice.DomainMemory fabric = device.mapDomainMemory(context, handle.bytes(), Optional.of(handle));
                return new SharedMemory(memory(fabric.address() + handle.offset(), handle.bytes()), handle, () -> {
                    fabric.close();
                    context.close();
                });
            }
            return handle.process().equals(process()) ? mapLocal(context, handle) : mapIpc(context, handle);
        } catch (RuntimeException | Error e) {
            context.close();
            throw e;
        }
    }

    private SharedMemory mapLocal(DriverContext context, MemoryHandle handle) {
        GpuDriver driver = context.driver();
        Runnable release = LocalAllocations.retain(handle.address())
                .orElseThrow(() -> new EpException("the memory at 0x" + Long.toHexString(handle.address())
                        + " of another rank of this process is already freed; find out why that rank"
                        + " freed this memory"));
        try {
            DriverContext owner = owner(driver, handle.gpu());
            if (owner.device() != context.device()) {
                try {
                    context.enablePeer(owner);
                } catch (RuntimeException | Error e) {
                    owner.close();
                    throw e;
                }
            }
            return new SharedMemory(memory(handle.address(), handle.bytes()), handle, () -> {
                release.run();
                owner.close();
                context.close();
            });
        } catch (RuntimeException | Error e) {
            release.run();
            throw e;
        }
    }

    /** The context of a GPU of this process. */
    private static DriverContext owner(GpuDriver driver, String gpu) {
        int count = GpuDriver.readOr(0, driver::deviceGetCount);
        for (int ordinal = 0; ordinal < count; ordinal++) {
            DriverContext context = new DriverContext(driver, ordinal);
            if (gpu(context).equals(gpu)) {
                return context;
            }
            context.close();
        }
        throw new EpException(gpu + " is not among the " + count + " GPUs that this process sees");
    }

    private SharedMemory mapIpc(DriverContext context, MemoryHandle handle) {
        GpuDriver driver = context.driver();
        if (handle.kind() != Kind.IPC) {
            throw new EpException("another process announced GPU memory that only its own threads can use;"
                    + " run the same ep4j version on all ranks");
        }
        long[] base = new long[1];
        byte[] opaque = HexFormat.of().parseHex(handle.handle());
        int result = context.result(() -> driver.ipcOpenMemHandle(base, opaque));
        if (result != 0) {
            throw new EpException(
                    device.id() + " cannot open the handle of another process's memory on that process's "
                            + handle.gpu()
                            + ": " + context.errors().describe(result)
                            + "; this process must be able to see that GPU (a container needs both GPUs), and the"
                            + " processes must share a PID namespace and a user (docker run --pid=host --ipc=host, or"
                            + " all ranks in one container)",
                    DriverErrors.recourse(result));
        }
        return new SharedMemory(memory(base[0] + handle.offset(), handle.bytes()), handle, () -> {
            closing(context, "closing memory of another process", () -> driver.ipcCloseMemHandle(base[0]));
            context.close();
        });
    }

    private static void closing(DriverContext context, String what, IntSupplier call) {
        int result = context.result(call);
        if (result != 0) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    () -> what + " on " + context + " failed: "
                            + context.errors().describe(result));
        }
    }

    /** Names a GPU by its number, which is unique in the process; partitions of one GPU may have one address. */
    private static String gpu(DriverContext context) {
        return context + " at "
                + context.driver()
                        .address(context.device())
                        .map(PciAddress::toString)
                        .orElse("an unknown address");
    }

    private DeviceMemory memory(long address, long bytes) {
        return DeviceMemory.of(address, bytes, device.id());
    }

    /**
     * Counts the users of an allocation inside this process: ranks that are threads use its address, and exchange nothing but bytes, while the
     * driver counts users across processes only. The last user frees, so ranks can close in any order. There is one table, since there is one
     * address space.
     */
    static final class LocalAllocations {
        private static final ConcurrentMap<Long, Entry> USED = new ConcurrentHashMap<>();

        private LocalAllocations() {}

        private record Entry(int users, Runnable free) {}

        /** Registers a new allocation with its first user, whose use ends when the result is run; the last user runs {@code free}. */
        static Runnable add(long address, Runnable free) {
            USED.put(address, new Entry(1, free));
            return once(address);
        }

        /** Adds a user, until the result is run; empty if the allocation is freed. */
        static Optional<Runnable> retain(long address) {
            Entry found = USED.computeIfPresent(address, (a, entry) -> new Entry(entry.users + 1, entry.free));
            return found == null ? Optional.empty() : Optional.of(once(address));
        }

        private static Runnable once(long address) {
            AtomicBoolean done = new AtomicBoolean();
            return () -> {
                if (done.compareAndSet(false, true)) {
                    release(address);
                }
            };
        }

        private static void release(long address) {
            Runnable[] last = new Runnable[1];
            USED.computeIfPresent(address, (a, entry) -> {
                if (entry.users > 1) {
                    return new Entry(entry.users - 1, entry.free);
                }
                last[0] = entry.free;
                return null;
            });
            // After the entry is gone: the driver may give the address out again at once.
            if (last[0] != null) {
                last[0].run();
            }
        }
    }

    /** Memory of a GPU that several ranks reach: the owner's, or a peer's as it is mapped here. */
    public static final class SharedMemory implements AutoCloseable {
        private static final System.Logger LOG = System.getLogger("org.ep4j");

        private final DeviceMemory memory;
        private final MemoryHandle handle;
        private final Runnable release;
        private final AtomicBoolean open = new AtomicBoolean(true);

        SharedMemory(DeviceMemory memory, MemoryHandle handle, Runnable release) {
            this.memory = memory;
            this.handle = handle;
            this.release = release;
        }

        /**
         * The memory as the rank's GPU reaches it; also a peer's memory counts as memory of that device.
         *
         * @throws EpStateException after {@link #close}
         */
        public DeviceMemory memory() {
            if (!open.get()) {
                throw new EpStateException(
                        "this shared memory of " + memory.byteSize() + " bytes is closed; do not use it after close()");
            }
            return memory;
        }

        /** The handle by which others map it. */
        public MemoryHandle handle() {
            return handle;
        }

        /**
         * Unmaps the memory, and frees it if it is the owner's. Never waits for other processes and never throws: what the driver
         * refuses is logged, since a GPU that failed refuses everything. A second call does nothing.
         */
        @Override
        public void close() {
            if (open.compareAndSet(true, false)) {
                try {
                    release.run();
                } catch (RuntimeException e) {
                    LOG.log(System.Logger.Level.WARNING, () -> memory + " could not be released: " + e.getMessage());
                }
            }
        }
    }
}
