package org.ep4j.backend.nvshmem;

import java.lang.invoke.MethodHandles;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.RecordCodec;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.NativeRecord;

/**
 * NVSHMEM of this JVM: initialised by the first group, and never finalised, since nvshmem_finalize is collective and ranks close
 * in any order. Safe for several threads.
 */
final class NvshmemProcess {
    /** NVSHMEM has one state a process. */
    private static final NvshmemProcess THIS = new NvshmemProcess();

    /** Time between two checks of {@link #hung} while another thread has the lock. */
    private static final Duration POLL = Duration.ofMillis(100);

    private final ReentrantLock lock = new ReentrantLock();

    /** A collective call that did not return in time. */
    private volatile Optional<String> hung = Optional.empty();

    private Optional<Started> started = Optional.empty();
    private Optional<Opened> opened = Optional.empty();

    /** The loaded library, and its installation. */
    private record Opened(NvshmemInstallation installation, NvshmemLibrary functions) {}

    /**
     * The processes that have initialised NVSHMEM together, which this one stays among until it ends.
     *
     * @param id of the world
     * @param pe of this process
     * @param size number of PEs
     */
    record World(String id, int pe, int size) {
        /** Checks the number. */
        World {
            if (pe < 0 || pe >= size) {
                throw new IllegalArgumentException("PE " + pe + " of " + size + ", must be in [0, " + size + ")");
            }
        }
    }

    /**
     * World of a process, as the process sends it to the other ranks.
     *
     * @param world empty when the process is in none
     */
    record Membership(Optional<World> world) {
        static final RecordCodec<Membership> CODEC =
                new RecordCodec<>(MethodHandles.lookup(), Membership.class, "its NVSHMEM world", 1);
    }

    /**
     * State after the initialisation.
     *
     * @param device whose GPU is the PE's
     */
    private record Started(World world, Device device, Heap heap) {}

    /** Not initialised; use {@link #get}, the one of this process. */
    NvshmemProcess() {}

    static NvshmemProcess get() {
        return THIS;
    }

    /** The world that this process is in. */
    Optional<World> world() {
        return locked(() -> started.map(Started::world));
    }

    /** The heap of that world. */
    Heap heap() {
        return locked(
                () -> started.orElseThrow(() -> new EpStateException("NVSHMEM is not initialised in this process"))
                        .heap());
    }

    /** Runs {@code work} with the lock; throws if a collective call that hangs has it. */
    private <T> T locked(Supplier<T> work) {
        try {
            while (!lock.tryLock(POLL.toMillis(), TimeUnit.MILLISECONDS)) {
                hung.ifPresent(what -> {
                    throw new EpStateException(
                            NvshmemProbe.INITIALISED + ": " + what + " hangs and keeps the lock of NVSHMEM;"
                                    + " start all processes again, with NVSHMEM_DEBUG=INFO",
                            EpException.Recourse.RESTART_PROCESS);
                });
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted while waiting for a call of NVSHMEM");
        }
        try {
            return work.get();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Loads the library.
     *
     * @throws EpUnavailableException when another one is loaded, or its version is not that of the headers, or not known
     */
    NvshmemLibrary load(NvshmemInstallation installation) {
        return locked(() -> {
            if (opened.isEmpty()) {
                NvshmemLibrary library = new NvshmemLibrary(installation.host());
                NvshmemVersion version = library.version();
                if (!version.equals(installation.version()) || !version.known()) {
                    throw new EpUnavailableException(NvshmemProbe.LIBRARY + ": " + installation.host() + " is NVSHMEM "
                            + version + ", but the headers in " + installation.include() + " are of "
                            + installation.version() + "; ep4j needs library and headers of the same version, at least "
                            + NvshmemVersion.OLDEST + " and below 4; set " + NvshmemKeys.HOME.name()
                            + " to such an installation");
                }
                opened = Optional.of(new Opened(installation, library));
            }
            Path loaded = opened.get().installation().host();
            if (!loaded.equals(installation.host())) {
                throw new EpUnavailableException(NvshmemProbe.LIBRARY + ": this process has loaded " + loaded
                        + " already, so it cannot load " + installation.host() + "; use one NVSHMEM per process");
            }
            return opened.get().functions();
        });
    }

    private NvshmemLibrary functions() {
        return opened.orElseThrow(() -> new EpStateException("NVSHMEM is not loaded in this process"))
                .functions();
    }

    /** Sets environment variables of the process with setenv, so that native libraries see them; others keep their values. */
    private static void setEnvironment(Map<String, String> variables) {
        NativeMethods.bindToC(NvshmemProcess.class);
        variables.forEach((name, value) -> setenv(name, value, 1));
    }

    private static native int setenv(String name, String value, int overwrite);

    /** Creates a unique id, which rank 0 sends to all ranks. */
    byte[] newId(EngineGpu device, Map<String, String> variables) {
        return locked(() -> {
            setEnvironment(variables);
            NativeRecord id = Structures.id();
            int result = device.inside(() -> functions().nvshmemx_get_uniqueid(id.address()));
            if (result != 0) {
                throw new EpException(NvshmemProbe.INITIALISED + ": nvshmemx_get_uniqueid failed with " + result
                        + "; set NVSHMEM_DEBUG=INFO, and NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME to the network interface by"
                        + " which the hosts reach each other");
            }
            byte[] bytes = new byte[Structures.ID_BYTES];
            id.buffer().get(0, bytes);
            return bytes;
        });
    }

    /**
     * Initialises NVSHMEM, together with the other PEs.
     *
     * @param id of rank 0
     * @throws EpUnavailableException when NVSHMEM says that it did not work
     */
    void start(EngineGpu device, Map<String, String> variables, byte[] id, World world, Duration deadline) {
        timed(
                "the initialisation of NVSHMEM",
                deadline,
                () -> locked(() -> {
                    // NVSHMEM's state lies in the GPU's primary context, and outlives the group.
                    device.keepContext();
                    setEnvironment(variables);
                    NativeRecord unique = Structures.id(id);
                    NativeRecord attributes = Structures.attributes(
                            opened.orElseThrow().installation().version());
                    int result;
                    try {
                        int set = functions()
                                .nvshmemx_set_attr_uniqueid_args(
                                        world.pe(), world.size(), unique.address(), attributes.address());
                        result = set != 0
                                ? set
                                : device.inside(() -> functions()
                                        .nvshmemx_hostlib_init_attr(NvshmemLibrary.INIT_WITH_ID, attributes.address()));
                    } finally {
                        // The attributes refer to the id.
                        Reference.reachabilityFence(unique);
                        Reference.reachabilityFence(attributes);
                    }
                    int status = functions().nvshmemx_init_status();
                    if (result != 0 || status < NvshmemLibrary.INITIALISED) {
                        throw new EpUnavailableException(NvshmemProbe.INITIALISED
                                + ": NVSHMEM could not be initialised on "
                                + device.id() + " as PE " + world.pe() + " of " + world.size() + ": result " + result
                                + " (0 is success), status " + status + " (" + NvshmemLibrary.INITIALISED
                                + " or more is initialised); set NVSHMEM_DEBUG=INFO to see why; "
                                + NvshmemKeys.TRANSPORT.name()
                                + " is "
                                + variables.get("NVSHMEM_REMOTE_TRANSPORT"));
                    }
                    started = Optional.of(new Started(world, device.id(), new Heap()));
                    return world;
                }));
    }

    /**
     * Refuses a second GPU in the process.
     *
     * @throws EpStateException naming both
     */
    void checkDevice(Device device) {
        locked(() -> {
            started.filter(one -> !one.device().equals(device)).ifPresent(one -> {
                throw new EpStateException(NvshmemProbe.PROCESS + ": this process is PE "
                        + one.world().pe() + " of "
                        + one.world().size() + " on " + one.device() + ", so it cannot open " + device
                        + ": NVSHMEM allows one PE per process; start one process for each GPU");
            });
            return device;
        });
    }

    /**
     * Grows the heap, together with all PEs.
     *
     * @return its new part, 0 where there is no room
     */
    long grow(EngineGpu device, long bytes, Duration deadline) {
        return timed(
                "nvshmem_malloc of " + bytes + " bytes",
                deadline,
                () -> locked(() -> device.inside(() -> functions().nvshmem_malloc(bytes))));
    }

    /** Returns the address at which this GPU loads and stores a peer's memory; 0 if it cannot. */
    long mapped(long address, int pe) {
        return locked(() -> functions().nvshmem_ptr(address, pe));
    }

    void attach(EngineGpu device, long module) {
        int result = locked(() -> device.inside(() -> functions().nvshmemx_cumodule_init(module)));
        if (result != 0) {
            throw new EpException("nvshmemx_cumodule_init failed with " + result
                    + "; library, headers and archive of NVSHMEM must be of one version"
                    + opened.map(Opened::installation)
                            .map(found -> " (the library is " + found.host() + ", version " + found.version() + ")")
                            .orElse(""));
        }
    }

    void detach(EngineGpu device, long module) {
        locked(() -> device.inside(() -> functions().nvshmemx_cumodule_finalize(module)));
    }

    void put(EngineGpu device, long to, long from, long bytes, int pe, long stream) {
        locked(() -> device.inside(() -> {
            functions().nvshmemx_putmem_on_stream(to, from, bytes, pe, stream);
            return bytes;
        }));
    }

    /** Sets a word of a peer after everything that was put on the stream before. */
    void signal(EngineGpu device, long word, long value, int pe, long stream) {
        locked(() -> device.inside(() -> {
            functions().nvshmemx_quiet_on_stream(stream);
            functions().nvshmemx_signal_op_on_stream(word, value, NvshmemLibrary.SIGNAL_SET, pe, stream);
            functions().nvshmemx_quiet_on_stream(stream);
            return value;
        }));
    }

    void quiet(EngineGpu device, long stream) {
        locked(() -> device.inside(() -> {
            functions().nvshmemx_quiet_on_stream(stream);
            return stream;
        }));
    }

    /** Collective calls of NVSHMEM may block without end: a daemon thread calls, and this one waits until the deadline. */
    private <T> T timed(String what, Duration deadline, Supplier<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(
                () -> {
                    try {
                        result.complete(work.get());
                    } catch (RuntimeException | Error e) {
                        result.completeExceptionally(e);
                    }
                },
                "ep4j-nvshmem");
        thread.setDaemon(true);
        thread.start();
        try {
            return result.get(deadline.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            hung = Optional.of(what);
            throw new EpTimeoutException(
                    NvshmemProbe.INITIALISED + ": " + what + " did not end in " + deadline.toMillis()
                            + " ms; another process may have died during this call: start all processes again, with"
                            + " NVSHMEM_DEBUG=INFO",
                    EpFailure.builder("nvshmem", -1).expected(1).build(),
                    EpException.Recourse.RESTART_PROCESS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted during " + what);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new EpException(what + " failed: " + e.getCause(), e.getCause());
        }
    }
}
