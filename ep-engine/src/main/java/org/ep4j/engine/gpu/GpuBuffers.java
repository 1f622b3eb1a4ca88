package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.ExpertPlacement;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.buffer.BufferContext;
import org.ep4j.engine.buffer.EngineBuffer;
import org.ep4j.engine.gpu.KernelMemory.DeviceWords;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Relays;
import org.ep4j.engine.sync.Waits;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.GpuModule;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.EpBackend;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.DeviceAllocation;

/** Creates buffers of the GPU engine. */
public final class GpuBuffers {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** One thread for all buffers. */
    private static final Cleaner CLEANER = Cleaner.create();

    private GpuBuffers() {}

    /**
     * Checks limits of GPUs that the host engine does not have.
     *
     * @throws EpArgumentException when kernels of {@code device} cannot serve the shape with so many ranks
     */
    public static void check(EpShape shape, int ranks, EngineGpu device) {
        if (ranks > KernelSizes.MOST_RANKS) {
            throw new EpArgumentException(
                    "ranks",
                    ranks,
                    "at most " + KernelSizes.MOST_RANKS
                            + " with GPUs, because kernels keep data of each rank in shared memory",
                    "divide the ranks into groups");
        }
        int needed = LowLatencyLaunch.leastSharedBytes(new BufferLayout(shape, ranks).messageHead(), ranks, true);
        int shared = device.info().sharedBytes();
        if (shape.maxLowLatencyTokens() > 0 && needed > shared) {
            throw new EpArgumentException(
                    "hidden, topK and ranks",
                    shape.hidden() + ", " + shape.topK() + " and " + ranks + " (in total " + needed
                            + " bytes of shared memory in low latency)",
                    "so small that they need at most " + shared + " bytes, the limit of a block on " + device.id(),
                    "lower one of them, or leave low latency out (maxLowLatencyTokens 0)");
        }
    }

    /**
     * Creates a buffer over symmetric memory.
     *
     * @param windows gives the window of the newest memory for peers that are not mapped, if there are any; freed with the memory
     */
    public static EpBuffer create(BufferContext context, EngineGpu device, Supplier<Optional<GpuWindow>> windows) {
        GroupPlan plan = context.plan();
        EpShape shape = context.shape();
        Relays relays = context.relays();
        EpConfig config = context.config();
        Deque<Runnable> owned = new ArrayDeque<>();
        owned.push(context.freeSymmetric());
        Runnable free = () -> owned.forEach(GpuBuffers::release);
        try {
            int ranks = context.group().size();
            int rank = context.group().rank();
            Optional<GpuWindow> window = windows.get();
            Duration timeout = EpKeys.TIMEOUT.get(config);
            ExpertPlacement placement = ShapeSizes.placement(shape, ranks);
            Copies copies = new Copies(device);
            owned.push(copies::close);
            LocalLayout local = new LocalLayout(shape, placement, rank);
            BufferLayout layout = new BufferLayout(shape, ranks);
            AbortWords abort = new AbortWords(device, ranks);
            owned.push(abort::close);
            KernelMemory memory = new KernelMemory(
                    device,
                    copies,
                    plan,
                    windows,
                    (reached, exchange, tables) -> plan.pathKinds(rank).contains(EpPath.Kind.HOST_POSTED)
                            ? new HostPosting(
                                    device, copies, plan, reached, exchange, layout, relays, config, abort, tables)
                            : Posting.byKernels(device, copies, plan, rank, exchange, relays, tables));
            owned.push(memory::close);
            memory.prepare(context.symmetric());
            Peers<DeviceWords> peers =
                    new Peers<>(plan, layout, context.symmetric(), memory::words, Deadline.in(timeout));
            Waits waits =
                    new Waits(peers, context.bootstrap(), plan.hostRanks(rank).size());
            Multiprocessors multiprocessors = Multiprocessors.of(config, device, shape, plan.profiles(), rank);
            owned.push(multiprocessors::close);
            LocalMemory results = new LocalMemory(device, local);
            owned.push(results::close);
            if (shape.preallocated()) {
                results.takeAll();
            }
            GpuState state = new GpuState(
                    device,
                    shape,
                    placement,
                    peers,
                    waits,
                    results,
                    own(device.allocatePrivate(KernelSizes.temporaryBytes(shape, ranks)), owned),
                    multiprocessors,
                    window.isPresent());
            DeviceState deviceState = new DeviceState(device, copies, ranks);
            owned.push(deviceState::close);
            KernelFailures failures = new KernelFailures(device.allocatePinned(KernelFailures.BYTES), shape, waits);
            owned.push(failures::close);
            Optional<DevicePosted> posted = window.flatMap(GpuWindow::posted);
            Set<EpPath.Kind> kinds = EnumSet.noneOf(EpPath.Kind.class);
            // Between any ranks: all ranks close the same rounds.
            if (GpuWindow.isInGroup(plan, EpPath.Kind.HOST_POSTED)) {
                kinds.add(EpPath.Kind.HOST_POSTED);
            }
            posted.ifPresent(library -> kinds.add(EpPath.Kind.DEVICE_POSTED));
            Optional<WindowLayout> windowLayout = window.map(GpuWindow::layout);
            int sharedBytes = device.info().sharedBytes();
            List<String> sources = posted.isPresent()
                    ? List.of(KernelSource.of(shape, ranks, sharedBytes, windowLayout, kinds))
                    : KernelSource.units(shape, ranks, sharedBytes, windowLayout, kinds);
            Launcher launcher = new Launcher(device, load(device, sources, posted, isRelaxed(config), owned));
            Arguments common = new Arguments()
                    .set(Param.STATE, deviceState.address())
                    .set(Param.FAILURE, failures.deviceAddress())
                    .set(Param.ABORT, abort.deviceAddress())
                    .set(Param.RANK, rank)
                    .set(Param.LOCAL_EXPERTS, placement.localExperts(rank))
                    .set(Param.OWNER, experts(device, copies, shape, owned, placement::rankOf))
                    .set(Param.LOCAL_OF, experts(device, copies, shape, owned, placement::localIndex))
                    .set(Param.TEMPORARY, state.temporary().address());
            memory.use(common);
            Operations operations = new Operations(
                    device,
                    launcher,
                    failures,
                    deviceState,
                    abort,
                    waits,
                    multiprocessors,
                    memory,
                    common,
                    timeout,
                    CLEANER);
            owned.push(operations::free);
            HighThroughput highThroughput = new HighThroughput(state, CLEANER);
            owned.push(highThroughput::close);
            LowLatency lowLatency = new LowLatency(state, operations, CLEANER);
            owned.push(lowLatency::close);
            GpuBuffer buffer = new GpuBuffer(
                    context.bootstrap(),
                    plan,
                    context.name(),
                    context.size(),
                    state,
                    deviceState,
                    operations,
                    highThroughput,
                    lowLatency,
                    memory,
                    context.recoverability(),
                    timeout,
                    free);
            buffer.numberFrom(EpKeys.FIRST_NUMBER.get(config));
            return new EngineBuffer(buffer, context.group(), context.name());
        } catch (RuntimeException | Error e) {
            free.run();
            throw e;
        }
    }

    /** Releases one resource; a failure, as of a GPU that failed, must not keep the others. */
    static void release(Runnable owned) {
        try {
            owned.run();
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, () -> "memory of a buffer could not be released: " + e.getMessage());
        }
    }

    /** Returns modules by the names of their kernels. */
    private static Map<String, GpuModule> load(
            EngineGpu device,
            List<String> sources,
            Optional<DevicePosted> posted,
            boolean relaxed,
            Deque<Runnable> owned) {
        String name = "ep4j kernels";
        KernelModules modules = KernelModules.load(
                sources,
                source -> posted.map(p -> device.load(name, source, p.code()))
                        .orElseGet(() -> relaxed ? device.loadRelaxed(name, source) : device.load(name, source)));
        owned.push(modules::close);
        posted.ifPresent(p -> modules.all().forEach(module -> {
            p.attach(module.handle());
            owned.push(() -> p.detach(module.handle()));
        }));
        return modules.byKernel();
    }

    private static DeviceMemory own(DeviceAllocation allocation, Deque<Runnable> owned) {
        owned.push(allocation::close);
        return allocation.memory();
    }

    private static long experts(
            EngineGpu device, Copies copies, EpShape shape, Deque<Runnable> owned, IntUnaryOperator of) {
        DeviceMemory memory = own(device.allocatePrivate(4L * shape.experts()), owned);
        ByteBuffer words = Copies.buffer(4 * shape.experts());
        for (int e = 0; e < shape.experts(); e++) {
            words.putInt(of.applyAsInt(e));
        }
        copies.write(memory.address(), words);
        return memory.address();
    }

    /** Returns whether kernels are to publish by relaxed stores. */
    static boolean isRelaxed(EpConfig config) {
        return EpKeys.GPU_PUBLISH.get(config).equals("relaxed");
    }

    /**
     * Checks that kernels can publish in the way of {@code ep.gpu.publish}. A release is right on every
     * memory. On AMD GPUs it writes the caches of the GPU back, for every counter and flag; a relaxed store, after the GPU has
     * acknowledged the data, does not. That is right only if everything that peers read lies in uncached memory, and acknowledged data has
     * arrived: over xGMI, not over PCIe, whose writes are posted.
     *
     * @param backends open backends of the rank
     * @throws EpUnavailableException when they cannot, with the reason
     */
    public static void checkPublishing(EngineGpu device, Collection<EpBackend> backends, EpConfig config) {
        if (isRelaxed(config)) {
            device.relaxedStoresRefusal().or(() -> unfit(backends)).ifPresent(reason -> {
                throw new EpUnavailableException(
                        "relaxed stores (" + EpKeys.GPU_PUBLISH.name() + "=relaxed) cannot publish on " + device.id()
                                + ": " + reason + "; leave " + EpKeys.GPU_PUBLISH.name() + " at release");
            });
        }
    }

    private static Optional<String> unfit(Collection<EpBackend> backends) {
        for (EpBackend backend : backends) {
            Optional<AllocatesMemory> allocator = backend.as(AllocatesMemory.class)
                    .filter(one -> one.purposes().contains(Purpose.MAPPED));
            if (allocator.isPresent()) {
                return allocator.get().relaxedStoresRefusal().map(reason -> reason + " (backend " + backend.id() + ")");
            }
        }
        return Optional.of("its symmetric memory is cached, because no backend maps it");
    }
}
