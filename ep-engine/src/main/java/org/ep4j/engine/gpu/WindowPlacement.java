package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.gpu.driver.NicMemory.Registrable;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.ExposedMemory.Kind;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.transport.memory.DeviceAllocation;

/**
 * Decides where the window of a GPU lies, and creates it: in GPU memory that all backends register as dma-buf, else by its
 * address, else in pinned host memory. Ranks may decide differently. The decision is logged with the reasons. A window that a backend has
 * allocated is registered where it lies.
 */
public final class WindowPlacement {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final EngineGpu device;
    private final GroupPlan plan;
    private final int rank;
    private final List<RegistersMemory> backends;
    private final String wanted;

    /**
     * Creates it for a rank of a plan.
     *
     * @param backends open backends of the rank that register memory
     */
    public WindowPlacement(
            EngineGpu device, GroupPlan plan, int rank, Collection<EpBackend> backends, EpConfig config) {
        this.device = device;
        this.plan = plan;
        this.rank = rank;
        this.backends = backends.stream()
                .flatMap(backend -> backend.as(RegistersMemory.class).stream())
                .toList();
        this.wanted = EpKeys.GPU_WINDOW.get(config);
    }

    /**
     * Creates the window; the caller closes it.
     *
     * @throws EpUnavailableException when only GPU memory is allowed, and cannot be used
     */
    public GpuWindow place(WindowLayout layout) {
        if (wanted.equals("host")) {
            return GpuWindow.onHost(device, layout);
        }
        Registrable found = registrable(wanted.equals("auto") ? tooFar().or(this::doubt) : Optional.empty());
        List<String> reasons = new ArrayList<>(found.reasons());
        boolean tried = !found.kinds().isEmpty();
        if (tried) {
            Optional<GpuWindow> window = onDevice(layout, found.kinds(), reasons);
            if (window.isPresent()) {
                LOG.log(
                        System.Logger.Level.INFO,
                        () -> label() + " exchanges data through memory of " + device.id() + ", registered as "
                                + window.get().exposed().kind());
                return window.get();
            }
        }
        String why = String.join("; ", reasons);
        if (wanted.equals("device")) {
            throw new EpUnavailableException(
                    label() + " is set to exchange data through memory of " + device.id() + " ("
                            + EpKeys.GPU_WINDOW.name() + "=device), but NICs cannot reach this memory: " + why
                            + "; fix this, or set " + EpKeys.GPU_WINDOW.name() + " to auto, to use memory of the host");
        }
        LOG.log(
                tried ? System.Logger.Level.WARNING : System.Logger.Level.INFO,
                () -> label() + " exchanges data through pinned memory of the host instead of memory of " + device.id()
                        + ": " + why);
        return GpuWindow.onHost(device, layout);
    }

    /**
     * Returns a window that a backend has allocated for kernels that post, as NICs of the backends that post from host threads register it.
     *
     * @param allocator the backend
     * @throws EpUnavailableException when they cannot
     */
    public GpuWindow share(GpuWindow allocated, String allocator) {
        if (backends.isEmpty()) {
            return allocated;
        }
        Registrable found = registrable(
                wanted.equals("host")
                        ? Optional.of(EpKeys.GPU_WINDOW.name() + " is host")
                        : doubt().filter(doubt -> wanted.equals("auto")));
        List<String> reasons = new ArrayList<>(found.reasons());
        return registrable(allocated, found.kinds(), reasons)
                .orElseThrow(() -> new EpUnavailableException(hostPosted() + ", so NICs must reach the memory of "
                        + device.id() + " that " + allocator + " allocated for this rank, but they cannot: "
                        + String.join("; ", reasons) + "; exclude one of the two backends with "
                        + EpKeys.BACKEND_EXCLUDE.name()));
    }

    private String hostPosted() {
        int peer = IntStream.range(0, plan.ranks())
                .filter(other -> plan.pathKind(rank, other) == EpPath.Kind.HOST_POSTED)
                .findFirst()
                .orElse(rank);
        return "host threads post from " + label() + " to "
                + plan.profiles().get(peer).label() + " over " + plan.backend(rank, peer);
    }

    private String label() {
        return plan.profiles().get(rank).label();
    }

    private Registrable registrable(Optional<String> unwanted) {
        return unwanted.map(reason -> new Registrable(List.of(), List.of(reason)))
                .orElseGet(() -> Registrable.of(device.nicMemory().map(NicMemory::facts), this::refusal));
    }

    private Optional<String> refusal(Kind kind) {
        return backends.stream()
                .flatMap(backend -> backend.refusal(kind).stream())
                .findFirst();
    }

    /** A NIC that is far from the GPU is slower with GPU memory than with host memory. */
    private Optional<String> tooFar() {
        return plan.farNic(rank)
                .map(nic -> nic.name() + " is too far from the GPU ("
                        + nic.distance().type()
                        + ") for GPUDirect RDMA; if this distance is wrong, as in a virtual machine that hides PCIe"
                        + " switches, set "
                        + EpKeys.GPU_WINDOW.name() + "=device");
    }

    private Optional<String> doubt() {
        return device.nicMemory().flatMap(memory -> memory.facts().doubt());
    }

    private Optional<GpuWindow> onDevice(WindowLayout layout, List<Kind> kinds, List<String> reasons) {
        long whole = (layout.bytes() + NicMemory.GRANULE - 1) / NicMemory.GRANULE * NicMemory.GRANULE;
        DeviceAllocation allocation;
        try {
            allocation = device.allocateShared(whole);
        } catch (EpException e) {
            requireWorking(e);
            reasons.add(String.valueOf(e.getMessage()));
            return Optional.empty();
        }
        DeviceMemory memory = allocation.memory().slice(0, layout.bytes());
        GpuWindow bare = new GpuWindow(
                layout,
                ExposedMemory.of(memory),
                memory.address(),
                Optional.empty(),
                Optional.empty(),
                () -> {},
                allocation::close);
        Optional<GpuWindow> window = Optional.empty();
        try {
            window = registrable(bare, kinds, reasons);
            return window;
        } finally {
            if (window.isEmpty()) {
                allocation.close();
            }
        }
    }

    /** Returns a window as NICs can register it, by the first kind that works. */
    private Optional<GpuWindow> registrable(GpuWindow bare, List<Kind> kinds, List<String> reasons) {
        for (Kind kind : kinds) {
            try {
                return Optional.of(registrable(bare, kind));
            } catch (EpException e) {
                requireWorking(e);
                reasons.add(kind + ": " + e.getMessage());
            }
        }
        return Optional.empty();
    }

    /** Passes on the failure of a GPU that refuses all further work. */
    private static void requireWorking(EpException e) {
        if (e.recourse() == EpException.Recourse.RESTART_PROCESS) {
            throw e;
        }
    }

    /** Creates a window that owns what {@code bare} owns, with words of HOST_POSTED peers. */
    private GpuWindow registrable(GpuWindow bare, Kind kind) {
        NicMemory nics = device.nicMemory().orElseThrow();
        DeviceMemory memory = bare.exposed().memory();
        Optional<NicMemory.File> file = kind == Kind.DMA_BUF ? Optional.of(nics.export(memory)) : Optional.empty();
        try {
            ExposedMemory exposed =
                    file.map(made -> ExposedMemory.of(memory, made.dmaBuf())).orElseGet(() -> ExposedMemory.of(memory));
            backends.forEach(backend -> backend.tryRegister(exposed));
            return new GpuWindow(
                    bare.layout(),
                    exposed,
                    bare.address(),
                    Optional.of(device.allocatePinned(bare.layout().counterBytes())),
                    bare.posted(),
                    nics.facts().flushed() ? nics::flush : () -> {},
                    () -> {
                        file.ifPresent(NicMemory.File::close);
                        bare.free().run();
                    });
        } catch (RuntimeException | Error e) {
            file.ifPresent(NicMemory.File::close);
            throw e;
        }
    }
}
