package org.ep4j.transport.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPath;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpResourceException;
import org.ep4j.EpStateException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.WordMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two ranks as threads over a fake network. */
@Tag("verify")
final class PostedBackendTest {
    private static final int BYTES = 4096;
    private static final Duration LONG = Guard.minute();

    private final FakeNetwork network = new FakeNetwork();
    private final List<InProcessMembers.Member> members = InProcessMembers.create(2);
    private final List<WordMemory> words = List.of(WordMemory.allocate(2 * BYTES), WordMemory.allocate(2 * BYTES));

    @AfterEach
    void leave() {
        members.forEach(Bootstrap::close);
    }

    /**
     * Context of a rank.
     *
     * @param back backend of the path from rank 1 to rank 0
     */
    private static OpenContext context(Bootstrap member, String back) {
        List<RankProfile> profiles = new ArrayList<>();
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < 2; from++) {
            profiles.add(RankProfile.builder(from, "h", Device.HOST).pid(1).build());
            for (int to = 0; to < 2; to++) {
                EpPath.Builder path = from == to
                        ? EpPath.builder(from, to, "local", EpPath.Kind.LOCAL)
                        : EpPath.builder(from, to, from == 0 ? "fake" : back, EpPath.Kind.HOST_POSTED)
                                .gigabytesPerSecond(1)
                                .latencyMicros(1);
                paths.add(path.build());
            }
        }
        return OpenContext.builder(GroupPlan.of(profiles, paths), profiles, member, new HostDevice())
                .timeout(LONG)
                .build();
    }

    /** Lets both ranks do something at the same time; throws what the first rank that failed threw. */
    private <T> List<T> both(Function<Integer, T> part) {
        List<CompletableFuture<T>> ranks = IntStream.range(0, 2)
                .mapToObj(
                        rank -> CompletableFuture.supplyAsync(() -> part.apply(rank), each -> new Thread(each).start()))
                .toList();
        List<T> results = new ArrayList<>();
        RuntimeException failure = null;
        for (CompletableFuture<T> rank : ranks) {
            try {
                results.add(rank.join());
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
        return results;
    }

    private List<PostedBackend<FakeNetwork.Memory>> open() {
        return open("fake");
    }

    private List<PostedBackend<FakeNetwork.Memory>> open(String back) {
        return both(rank -> PostedBackend.open(
                "fake", context(members.get(rank), back), peers -> network.new Endpoint(rank, peers)));
    }

    private ExposedMemory memory(int rank, long bytes) {
        return ExposedMemory.of(DeviceMemory.of(words.get(rank).address(), bytes, Device.HOST));
    }

    private SymmetricBuffer register(PostedBackend<FakeNetwork.Memory> backend, int rank) {
        return backend.register("b", memory(rank, BYTES), LONG);
    }

    @Test
    void whatARankWritesArrivesBeforeItsCounter() {
        List<PostedBackend<FakeNetwork.Memory>> backends = open();
        List<SymmetricBuffer> buffers = both(rank -> register(backends.get(rank), rank));
        words.get(0).words().putLong(8, 77);
        HostPosted from = buffers.get(0).as(HostPosted.class).orElseThrow();
        HostPosted to = buffers.get(1).as(HostPosted.class).orElseThrow();
        from.put(1, 16, 8, 8);
        from.signal(1, 5, 3);
        Guard.until("the counter advances", () -> to.counter(5, 0) == 3);
        assertThat(words.get(1).words().getLong(16)).isEqualTo(77);
        assertThat(backends.get(0)).hasToString("fake between ranks 0, 1 over fake0");
        assertThat(backends.get(0).traffic()).singleElement().satisfies(link -> {
            assertThat(link.peer()).isEqualTo(1);
            assertThat(link.lanes().get(0).bytes()).isEqualTo(8);
        });
        assertThatThrownBy(() -> backends.get(0).connection(0))
                .hasMessage("rank 0 is not connected by fake between ranks 0, 1 over fake0");
        both(rank -> {
            backends.get(rank).close();
            return rank;
        });
        assertThat(network.open).hasValue(0);
        assertThatThrownBy(() -> from.put(1, 0, 0, 8)).isInstanceOf(EpStateException.class);
        assertThatThrownBy(() -> register(backends.get(0), 0)).isInstanceOf(EpStateException.class);
    }

    @Test
    void ranksThatUseTheBackendInOneDirectionAreConnected() {
        List<PostedBackend<FakeNetwork.Memory>> backends = open("other");
        List<SymmetricBuffer> buffers = both(rank -> register(backends.get(rank), rank));
        HostPosted to = buffers.get(1).as(HostPosted.class).orElseThrow();
        buffers.get(0).as(HostPosted.class).orElseThrow().signal(1, 5, 3);
        Guard.until("the counter advances", () -> to.counter(5, 0) == 3);
        backends.forEach(PostedBackend::close);
    }

    @Test
    void aRankThatCannotConnectClosesBoth() {
        network.failsToConnect = 1;
        assertThatThrownBy(this::open)
                .hasCauseInstanceOf(EpResourceException.class)
                .hasMessageContaining("no queue is left");
        assertThat(network.open).hasValue(0);
    }

    @Test
    void aRankThatCannotRegisterLeavesNothingRegistered() {
        List<PostedBackend<FakeNetwork.Memory>> backends = open();
        network.failsToRegister = 1;
        assertThatThrownBy(() -> both(rank -> register(backends.get(rank), rank)))
                .hasCauseInstanceOf(EpException.class)
                .hasMessageContaining("the NIC is full");
        assertThat(network.open).as("both endpoints").hasValue(2);
        network.failsToRegister = -1;
        assertThatThrownBy(() ->
                        both(rank -> backends.get(rank).register("c", memory(rank, BYTES * (1L + rank)), LONG)))
                .hasCauseInstanceOf(EpMismatchException.class);
        assertThat(network.open).as("both endpoints").hasValue(2);
        backends.forEach(PostedBackend::close);
        assertThat(network.open).hasValue(0);
    }

    @Test
    void memoryThatNicsRefuseIsRefused() {
        List<PostedBackend<FakeNetwork.Memory>> backends = open();
        ExposedMemory gpu = ExposedMemory.of(DeviceMemory.of(4096, BYTES, Device.parse("cuda:0")));
        assertThatThrownBy(() -> both(rank -> backends.get(rank).register("b", gpu, LONG)))
                .hasCauseInstanceOf(EpArgumentException.class)
                .hasMessageContaining("no GPUs");
        assertThat(backends.get(0).refusal(ExposedMemory.Kind.HOST)).isEmpty();
        assertThatThrownBy(() -> backends.get(0).tryRegister(gpu)).hasMessage("not for [1]");
        backends.forEach(PostedBackend::close);
    }

    /** It may still advance them, and what comes late must not count for a younger buffer. */
    @Test
    void countersStayRegisteredUntilThePeerHasClosed() {
        network.threads = false;
        List<PostedBackend<FakeNetwork.Memory>> backends = open();
        List<SymmetricBuffer> first = both(rank -> register(backends.get(rank), rank));
        first.get(0).close();
        assertThat(network.open)
                .as("endpoints, both registrations of rank 1, counters of rank 0")
                .hasValue(5);
        first.get(1).close();
        assertThat(network.open).as("endpoints, counters of rank 0").hasValue(3);
        List<SymmetricBuffer> second = both(rank -> register(backends.get(rank), rank));
        assertThat(network.open)
                .as("endpoints, registrations of the second buffer")
                .hasValue(6);
        second.get(0).close();
        backends.forEach(PostedBackend::close);
        assertThat(network.open).hasValue(0);
    }

    @Test
    void countersAreGivenBackOnceThePeerIsLost() {
        network.threads = false;
        List<PostedBackend<FakeNetwork.Memory>> backends = open();
        List<SymmetricBuffer> buffers = both(rank -> register(backends.get(rank), rank));
        buffers.get(0).close();
        assertThat(network.open).hasValue(5);
        backends.get(0).connection(1).end("lost in a test");
        both(rank -> backends.get(rank).register("c", memory(rank, BYTES), LONG));
        assertThat(network.open)
                .as("two more registrations of each rank, and one less")
                .hasValue(8);
        backends.forEach(PostedBackend::close);
        assertThat(network.open).hasValue(0);
    }

    /** Rank 0 gets no answers to its part of a registration, and rank 1 gets the buffer. */
    private List<PostedBackend<FakeNetwork.Memory>> withBufferOfRankOne() {
        network.threads = false;
        List<PostedBackend<FakeNetwork.Memory>> backends = open();
        members.get(0).failsIn = "fake/expose/b";
        assertThatThrownBy(() -> both(rank -> register(backends.get(rank), rank)))
                .hasMessageContaining("the answers were lost in a test");
        assertThat(network.open)
                .as("endpoints, both registrations of rank 1, counters of rank 0")
                .hasValue(5);
        return backends;
    }

    /** It may advance them. */
    @Test
    void countersOfABufferThatOnlyThePeerHasAreKeptUntilItIsLost() {
        List<PostedBackend<FakeNetwork.Memory>> backends = withBufferOfRankOne();
        both(rank -> backends.get(rank).register("c", memory(rank, BYTES), LONG));
        assertThat(network.open)
                .as("two more registrations of each rank, and none less")
                .hasValue(9);
        for (int rank = 0; rank < 2; rank++) {
            backends.get(rank).connection(1 - rank).end("lost in a test");
        }
        both(rank -> backends.get(rank).register("d", memory(rank, BYTES), LONG));
        assertThat(network.open)
                .as("two more registrations of each rank, and one less")
                .hasValue(12);
        backends.forEach(PostedBackend::close);
        assertThat(network.open).hasValue(0);
    }

    @Test
    void countersOfABufferThatOnlyThePeerHasAreGivenBackWithTheBackend() {
        List<PostedBackend<FakeNetwork.Memory>> backends = withBufferOfRankOne();
        backends.get(0).close();
        assertThat(network.open).as("endpoint and both registrations of rank 1").hasValue(3);
        backends.get(1).close();
        assertThat(network.open).hasValue(0);
    }

    @Test
    void aPeerThatLeavesIsLost() {
        List<PostedBackend<FakeNetwork.Memory>> backends = open();
        members.get(1).close();
        Guard.until("rank 1 is lost", () -> backends.get(0).connection(1).isLost());
        assertThat(backends.get(0).connection(1).lostNow())
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContainingAll("rank 1", "cannot be reached: it has left the group");
        backends.forEach(PostedBackend::close);
    }

    @Test
    void buffersAreMadeAmongTheRanksThatAreLeft() {
        List<PostedBackend<FakeNetwork.Memory>> backends = open();
        Bootstrap alone = InProcessMembers.create(1).get(0);
        PostedBackend<?> left = (PostedBackend<?>) backends.get(0).among(alone, List.of(0));
        SymmetricBuffer buffer = left.register("b", memory(0, BYTES), LONG);
        HostPosted posted = buffer.as(HostPosted.class).orElseThrow();
        assertThatThrownBy(() -> posted.put(1, 0, 0, 8)).hasMessageContaining("rank 1 is not connected to rank 0");
        buffer.close();
        backends.forEach(PostedBackend::close);
        assertThat(network.open).hasValue(0);
        alone.close();
    }
}
