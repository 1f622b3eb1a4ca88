package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;
import org.ep4j.spi.SymmetricBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A group or a buffer that cannot be set up on one rank, whatever that rank's failure is: nothing stays allocated, registered or open
 * on any rank, and the other rank hears of it long before the set-up timeout of 60 s.
 */
@Timeout(40)
final class FailedSetUpTest {
    private static final Duration PROMPT = Duration.ofSeconds(10);
    private static final EpShape SHAPE =
            EpShape.builder(64, 8, 2).maxTokens(4).maxLowLatencyTokens(4).build();

    private final Faults faults = new Faults();

    private static List<Supplier<Throwable>> failures() {
        return List.of(
                () -> new OutOfMemoryError("Java heap space"),
                () -> new NoClassDefFoundError("some/vendor/Binding"),
                () -> new IllegalStateException("a defect"));
    }

    private static Stream<Arguments> everyFailureAt(String... steps) {
        return Stream.of(steps).flatMap(step -> failures().stream().map(failure -> Arguments.of(step, failure.get())));
    }

    static Stream<Arguments> joins() {
        return everyFailureAt(
                "probe device 1", "open device 1", "offer 1", "open a 1", "open b 1", "allocates a 1", "allocates b 1");
    }

    static Stream<Arguments> buffers() {
        return everyFailureAt(
                "allocate 1", // symmetric memory
                "expose a 1",
                "expose b 1",
                "map a 1",
                "allocate 2", // results
                "allocate 3",
                "allocate 4");
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("joins")
    void groupThatOneRankCannotJoin(String step, Throwable failure) {
        faults.at(step, failure);
        assertFailedOnRankZero(joined(), step, failure);
        assertThat(faults.open).as("devices and backends that stay open").isEmpty();
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("buffers")
    void bufferThatOneRankCannotMake(String step, Throwable failure) {
        List<EpGroup> groups = joined().stream().map(CompletableFuture::join).toList();
        faults.at(step, failure);
        assertFailedOnRankZero(created(groups), step, failure);
        assertThat(faults.held).as("memory that stays").isEmpty();
        // The failure was of that buffer alone.
        created(groups).forEach(made -> made.join().close());
        groups.forEach(EpGroup::close);
        assertThat(faults.held).isEmpty();
        assertThat(faults.open).isEmpty();
    }

    @Test
    void memoryIsFreedAfterTheBackendsHaveLetGoOfItAlsoWhenOneCannot() {
        List<EpGroup> groups = joined().stream().map(CompletableFuture::join).toList();
        faults.at("expose b 1", new OutOfMemoryError("first"));
        faults.at("release a 1", new NoClassDefFoundError("second"));
        faults.events.clear();
        assertThatThrownBy(created(groups).get(0)::join)
                .hasCauseInstanceOf(OutOfMemoryError.class)
                .satisfies(thrown -> assertThat(thrown.getCause().getSuppressed())
                        .singleElement()
                        .isInstanceOf(NoClassDefFoundError.class));
        assertThat(faults.events)
                .filteredOn(event -> event.endsWith("0"))
                .containsExactly("allocation 0", "registration a 0", "end of allocation 0");
        faults.at("expose b 1", new OutOfMemoryError("third"));
        faults.events.clear();
        assertThatThrownBy(created(groups).get(0)::join).hasMessageContaining("third");
        assertThat(faults.events)
                .filteredOn(event -> event.endsWith("0"))
                .containsExactly("allocation 0", "registration a 0", "end of registration a 0", "end of allocation 0");
        groups.forEach(EpGroup::close);
    }

    private void assertFailedOnRankZero(List<? extends CompletableFuture<?>> ranks, String step, Throwable failure) {
        assertThatThrownBy(() -> ranks.get(0).get(PROMPT.toSeconds(), TimeUnit.SECONDS))
                .as(step)
                .hasCause(failure);
        assertThatThrownBy(() -> ranks.get(1).get(PROMPT.toSeconds(), TimeUnit.SECONDS))
                .as("what rank 1 hears of " + step)
                .hasCauseInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("rank 0: " + failure);
        assertThat(faults.pending).as("faults that did not come").isEmpty();
    }

    private List<CompletableFuture<EpGroup>> joined() {
        return Bootstraps.inProcess(2).stream().map(b -> started(() -> join(b))).toList();
    }

    private static List<CompletableFuture<EpBuffer>> created(List<EpGroup> groups) {
        return groups.stream()
                .map(group -> started(() -> group.createBuffer(SHAPE)))
                .toList();
    }

    private EpGroup join(Bootstrap bootstrap) {
        Rank rank = new Rank(bootstrap.rank());
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        Map<String, EpBackendProvider> backends = Map.of("a", new Provider(rank, "a"), "b", new Provider(rank, "b"));
        return new Joining(
                        bootstrap,
                        config,
                        new Services<>(backends, List.of()),
                        new Services<>(Map.of("host", new Devices(rank)), List.of()))
                .join();
    }

    private static <T> CompletableFuture<T> started(Supplier<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                result.complete(work.get());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return result;
    }

    /** What fails on rank 0, and what the ranks hold. */
    private static final class Faults {
        private final Map<String, Throwable> pending = new ConcurrentHashMap<>();
        private final Map<String, AtomicInteger> counts = new ConcurrentHashMap<>();
        private final List<String> held = Collections.synchronizedList(new ArrayList<>());
        private final List<String> open = Collections.synchronizedList(new ArrayList<>());
        private final List<String> events = Collections.synchronizedList(new ArrayList<>());
        private final Map<String, DeviceMemory> exposed = new ConcurrentHashMap<>();

        void at(String step, Throwable failure) {
            counts.clear();
            pending.put(step, failure);
        }

        void pass(int rank, String step) {
            if (rank == 0) {
                int count =
                        counts.computeIfAbsent(step, s -> new AtomicInteger()).incrementAndGet();
                Throwable failure = pending.remove(step + " " + count);
                if (failure instanceof Error error) {
                    throw error;
                }
                if (failure != null) {
                    throw (RuntimeException) failure;
                }
            }
        }
    }

    private final class Rank {
        private final int number;

        Rank(int number) {
            this.number = number;
        }

        void pass(String step) {
            faults.pass(number, step);
        }

        EpDevice device() {
            return new CountedDevice(this);
        }

        EpBackend backend(String id) {
            return new CountedBackend(this, id);
        }

        Runnable hold(List<String> where, String what) {
            String entry = what + " " + number;
            where.add(entry);
            faults.events.add(entry);
            AtomicBoolean ended = new AtomicBoolean();
            return () -> {
                if (ended.compareAndSet(false, true)) {
                    where.remove(entry);
                    faults.events.add("end of " + entry);
                }
            };
        }
    }

    private record Devices(Rank rank) implements DeviceProvider {
        @Override
        public String type() {
            return "host";
        }

        @Override
        public SpiVersion spiVersion() {
            return SpiVersion.CURRENT;
        }

        @Override
        public ProbeReport probe(ProbeRequest request) {
            rank.pass("probe device");
            return new ProbeReport(List.of(Check.pass("EP-TEST-001", "there")), Map.of());
        }

        @Override
        public EpDevice open(Device device) {
            rank.pass("open device");
            return rank.device();
        }
    }

    private record Provider(Rank rank, String id) implements EpBackendProvider {
        @Override
        public SpiVersion spiVersion() {
            return SpiVersion.CURRENT;
        }

        @Override
        public ProbeReport probe(ProbeRequest request) {
            return new ProbeReport(
                    List.of(Check.pass("EP-TEST-001", "there")), Map.of("from", rank.number == 0 ? "a" : "b"));
        }

        /** One way goes over a, the other one over b. */
        @Override
        public Offer offer(RankProfile from, RankProfile to) {
            rank.pass("offer");
            boolean mine = from.facts(id).get("from").equals(id);
            return new PathOffer(PathKind.MAPPED, mine ? 100 : 1, 1, List.of());
        }

        @Override
        public EpBackend open(OpenContext context) {
            rank.pass("open " + id);
            return rank.backend(id);
        }
    }

    private final class CountedBackend implements EpBackend {
        private final Rank rank;
        private final String id;
        private final Runnable closed;

        CountedBackend(Rank rank, String id) {
            this.rank = rank;
            this.id = id;
            this.closed = rank.hold(faults.open, "backend " + id);
        }

        @Override
        public String id() {
            return id;
        }

        @Override
        public boolean allocates() {
            rank.pass("allocates " + id);
            return false;
        }

        @Override
        public SymmetricBuffer expose(String name, long bytes, Optional<ExposedMemory> memory, Duration deadline) {
            rank.pass("expose " + id);
            DeviceMemory own = memory.orElseThrow().memory();
            faults.exposed.put(name + " of " + rank.number, own);
            Runnable release = rank.hold(faults.held, "registration " + id);
            return new Exposed(rank, id, name, own, release, faults.exposed);
        }

        @Override
        public void close() {
            closed.run();
        }
    }

    private record Exposed(
            Rank rank, String id, String name, DeviceMemory local, Runnable release, Map<String, DeviceMemory> all)
            implements SymmetricBuffer, MappedPeers {
        @Override
        public DeviceMemory peer(int peer) {
            rank.pass("map " + id);
            return Optional.ofNullable(all.get(name + " of " + peer)).orElseThrow();
        }

        @Override
        public void close() {
            rank.pass("release " + id);
            release.run();
        }
    }

    private final class CountedDevice implements EpDevice {
        private final HostDevice host = new HostDevice();
        private final Rank rank;
        private final Runnable closed;

        CountedDevice(Rank rank) {
            this.rank = rank;
            this.closed = rank.hold(faults.open, "device");
        }

        @Override
        public Device id() {
            return host.id();
        }

        @Override
        public DeviceAllocation allocate(long bytes) {
            rank.pass("allocate");
            DeviceAllocation allocation = host.allocate(bytes);
            Runnable freed = rank.hold(faults.held, "allocation");
            return new DeviceAllocation() {
                @Override
                public DeviceMemory memory() {
                    return allocation.memory();
                }

                @Override
                public void close() {
                    freed.run();
                    allocation.close();
                }
            };
        }

        @Override
        public void upload(ByteBuffer source, DeviceMemory target) {
            host.upload(source, target);
        }

        @Override
        public void download(DeviceMemory source, ByteBuffer target) {
            host.download(source, target);
        }

        @Override
        public DeviceMemory wrap(ByteBuffer direct) {
            return host.wrap(direct);
        }

        @Override
        public ByteBuffer view(DeviceMemory memory) {
            return host.view(memory);
        }

        @Override
        public EpEvent record(long stream) {
            return host.record(stream);
        }

        @Override
        public void close() {
            closed.run();
            host.close();
        }
    }
}
