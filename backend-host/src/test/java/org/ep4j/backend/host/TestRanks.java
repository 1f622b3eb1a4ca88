package org.ep4j.backend.host;

import com.sun.jna.Pointer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.Planner;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.testing.Guard;

/** Profiles, plans, contexts and threads that are ranks, for tests that open the backend. */
final class TestRanks {
    static final Duration DEADLINE = Guard.minutes(2);

    private TestRanks() {}

    /** Actions of one rank. */
    interface Part<T> {
        T run(int rank, EpBackend backend);
    }

    /**
     * How one rank ended.
     *
     * @param value what it gave
     * @param failure what it threw
     */
    record Outcome<T>(Optional<T> value, Optional<Throwable> failure) {}

    static EpConfig config(Path folder) {
        return EpConfig.builder(Map.of(), Map.of())
                .set(HostShmProvider.FOLDER.name(), folder.toString())
                .build();
    }

    static ProbeReport probe(EpConfig config) {
        return new HostShmProvider().probe(ProbeRequest.of(Device.HOST, config, DEADLINE));
    }

    static RankProfile profile(int rank, Map<String, String> facts, Map<String, String> identity) {
        return profile(rank, "host-id", facts, identity);
    }

    static RankProfile profile(int rank, String hostId, Map<String, String> facts, Map<String, String> identity) {
        return RankProfile.builder(rank, hostId, Device.HOST)
                .hostName("host-a")
                .pid(1000 + rank)
                .backends(Map.of(HostShmProvider.ID, RankProfile.BackendProfile.of(facts, identity)))
                .build();
    }

    /** The plan of ranks that all found what this process finds. */
    static GroupPlan plan(int ranks, EpConfig config) {
        ProbeReport report = probe(config);
        if (!report.usable()) {
            throw new IllegalStateException(
                    report.failures().stream().map(Check::toString).toList().toString());
        }
        return plan(IntStream.range(0, ranks)
                .mapToObj(r -> profile(r, report.facts(), report.identity()))
                .toList());
    }

    static GroupPlan plan(List<RankProfile> profiles) {
        HostShmProvider provider = new HostShmProvider();
        return Planner.plan(
                profiles, List.of(new Planner.Candidate(HostShmProvider.ID, provider::offer)), BackendChoice.AUTO);
    }

    static OpenContext context(GroupPlan plan, Bootstrap bootstrap, EpConfig config) {
        return OpenContext.builder(plan, plan.profiles(), bootstrap, new TestDevice())
                .config(config)
                .timeout(DEADLINE)
                .build();
    }

    /** Opens the backend on {@code ranks} threads and lets each do its part; every rank with its own settings. */
    static <T> List<Outcome<T>> run(List<EpConfig> configs, GroupPlan plan, Part<T> part) {
        List<Bootstrap> members = Bootstrap.inProcess(configs.size());
        ExecutorService threads = Executors.newFixedThreadPool(configs.size());
        try {
            List<Future<T>> futures = new ArrayList<>();
            for (int i = 0; i < configs.size(); i++) {
                int rank = i;
                futures.add(threads.submit(() -> {
                    OpenContext context = context(plan, members.get(rank), configs.get(rank));
                    try (EpBackend backend = new HostShmProvider().open(context)) {
                        return part.run(rank, backend);
                    }
                }));
            }
            return futures.stream().map(TestRanks::outcome).toList();
        } finally {
            threads.shutdownNow();
            members.forEach(Bootstrap::close);
        }
    }

    static <T> List<Outcome<T>> run(int ranks, Path folder, Part<T> part) {
        EpConfig config = config(folder);
        return run(IntStream.range(0, ranks).mapToObj(r -> config).toList(), plan(ranks, config), part);
    }

    /** As {@link #run}, for parts that must not fail. */
    static <T> List<T> runAll(int ranks, Path folder, Part<T> part) {
        return TestRanks.<T>run(ranks, folder, part).stream()
                .map(outcome -> {
                    outcome.failure().ifPresent(e -> {
                        throw new AssertionError("a rank failed", e);
                    });
                    return outcome.value().orElseThrow();
                })
                .toList();
    }

    private static <T> Outcome<T> outcome(Future<T> future) {
        try {
            return new Outcome<>(
                    Optional.of(future.get(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS)), Optional.empty());
        } catch (ExecutionException e) {
            return new Outcome<>(Optional.empty(), Optional.of(e.getCause()));
        } catch (InterruptedException | TimeoutException e) {
            return new Outcome<>(Optional.empty(), Optional.of(e));
        }
    }

    /** Waits for the other ranks. */
    static void await(CyclicBarrier barrier) {
        try {
            barrier.await(Guard.minute().toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
            throw new IllegalStateException(e);
        }
    }

    static SymmetricBuffer expose(EpBackend backend, String name, long bytes) {
        return backend.as(AllocatesMemory.class).orElseThrow().allocate(name, bytes, Purpose.MAPPED, DEADLINE);
    }

    static MappedPeers peers(SymmetricBuffer buffer) {
        return buffer.as(MappedPeers.class).orElseThrow();
    }

    static ByteBuffer view(DeviceMemory memory) {
        return new Pointer(memory.address()).getByteBuffer(0, memory.byteSize()).order(ByteOrder.nativeOrder());
    }

    /** Names of our files in a folder. */
    static List<String> files(Path folder) {
        try (Stream<Path> list = Files.list(folder)) {
            return list.map(p -> p.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Lines of this process's memory map that belong to files of a folder. */
    static long mappedFrom(Path folder) {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(folder.toString())).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Open descriptors of this process that lead into a folder; not those of its listing, which other threads may read. */
    static long descriptorsInto(Path folder) {
        try (Stream<Path> list = Files.list(Path.of("/proc/self/fd"))) {
            return list.filter(fd -> target(fd).startsWith(folder + "/")).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            // The descriptor that lists the folder is closed by now.
            return "";
        }
    }

    /** A device of which the backend may only ask the name. */
    private static final class TestDevice implements EpDevice {
        @Override
        public Device id() {
            return Device.HOST;
        }

        @Override
        public TensorArena arena() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void upload(ByteBuffer source, DeviceMemory target) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void download(DeviceMemory source, ByteBuffer target) {
            throw new UnsupportedOperationException();
        }

        @Override
        public DeviceMemory wrap(ByteBuffer direct) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ByteBuffer view(DeviceMemory memory) {
            throw new UnsupportedOperationException();
        }

        @Override
        public float[] floats(Tensor tensor) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int[] ints(Tensor tensor) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long[] longs(Tensor tensor) {
            throw new UnsupportedOperationException();
        }
    }
}
