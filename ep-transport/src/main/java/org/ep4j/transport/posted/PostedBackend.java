package org.ep4j.transport.posted;

import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.ep4j.Bootstrap;
import org.ep4j.EpTraffic;
import org.ep4j.plan.RecordCodec;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.BufferArguments;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.OpenBuffers;
import org.ep4j.transport.posted.PostedMemory.Registrations;

/**
 * A backend, open on one rank, whose host threads post to NICs: its buffers are {@link org.ep4j.spi.HostPosted}. It owns the endpoint, the
 * connections, threads, and the buffers that it registered.
 *
 * @param <M> memory of buffers
 */
public final class PostedBackend<M extends PostedMemory> implements RecoverableBackend, RegistersMemory {
    private final Collective collective;
    private final Opened<M> opened;

    /** What a backend and the same one among fewer ranks have in common. */
    private record Opened<M extends PostedMemory>(
            int rank,
            PostedEndpoint<M> endpoint,
            Map<Integer, PostedConnection<M>> connections,
            ProgressThreads threads,
            OpenBuffers<PostedBuffer<M>> buffers,
            List<PostedBuffer<M>> closing,
            PostedBuffer.LastRead lastRead) {}

    /** What ranks exchange of a buffer: its size, and the key of its memory. */
    @SuppressWarnings("ArrayRecordComponent") // not compared, and nobody changes the array
    private record BufferRecord(long bytes, byte[] key) {
        static final RecordCodec<BufferRecord> CODEC =
                new RecordCodec<>(MethodHandles.lookup(), BufferRecord.class, "a buffer", 3);
    }

    private PostedBackend(Collective collective, Opened<M> opened) {
        this.collective = collective;
        this.opened = opened;
    }

    /**
     * Opens a backend, collectively: all ranks connect to the peers that the plan connects by it, or all fail. In the last step
     * connections find out whether their peers can be reached; backends whose connections assume it take this step, an all-gather, too.
     *
     * @param id of the backend
     * @param endpoint creates the endpoint of this rank, which opens nothing yet, for these peers
     */
    public static <M extends PostedMemory> PostedBackend<M> open(
            String id, OpenContext context, Function<List<Integer>, PostedEndpoint<M>> endpoint) {
        Collective collective = new Collective(id, context);
        Deadline deadline = Deadline.in(context.timeout());
        int rank = context.rank();
        List<Integer> peers = context.ranks().stream()
                .filter(peer -> collective.connects(rank, peer) || collective.connects(peer, rank))
                .toList();
        PostedEndpoint<M> own = endpoint.apply(peers);
        Map<Integer, PostedConnection<M>> connections = new TreeMap<>();
        ProgressThreads threads = new ProgressThreads(rank, connections.values());
        PostedBackend<M> backend = new PostedBackend<>(
                collective,
                new Opened<>(
                        rank,
                        own,
                        connections,
                        threads,
                        new OpenBuffers<>(collective, rank),
                        new ArrayList<>(),
                        new PostedBuffer.LastRead()));
        boolean done = false;
        try {
            own.prepare(collective, deadline);
            List<byte[]> addresses = collective.step("endpoints", deadline, own::address);
            collective.step("connect", deadline, () -> {
                for (int peer : peers) {
                    PostedPeer to = new PostedPeer(
                            peer,
                            context.ranks().indexOf(peer),
                            collective.label(peer),
                            collective.about("host-posted writes", peer).build());
                    connections.put(peer, own.connect(to, addresses));
                }
                threads.start(context.bootstrap(), own.pauses("ep-" + id + "-" + rank));
                return new byte[0];
            });
            collective.step("establish", deadline, () -> {
                connections.values().forEach(connection -> connection.establish(deadline));
                return new byte[0];
            });
            done = true;
            return backend;
        } finally {
            if (!done) {
                backend.close();
            }
        }
    }

    @Override
    public String id() {
        return collective.backend();
    }

    @Override
    public EpBackend among(Bootstrap members, List<Integer> ranks) {
        return new PostedBackend<>(collective.among(members, ranks), opened);
    }

    @Override
    public SymmetricBuffer register(String name, ExposedMemory memory, Duration timeout) {
        opened.buffers().checkOpen();
        releaseCounters();
        Registrations registrations = new Registrations();
        List<M> registered = new ArrayList<>(1);
        boolean[] answered = {false};
        boolean done = false;
        try {
            List<BufferRecord> given = collective
                    .step(
                            "expose/" + name,
                            Deadline.in(timeout),
                            () -> {
                                BufferArguments.checkRegistered(memory, this::refusal);
                                registered.add(opened.endpoint().register(memory, registrations));
                                return BufferRecord.CODEC.encode(new BufferRecord(
                                        memory.memory().byteSize(),
                                        registered.get(0).key()));
                            },
                            () -> answered[0] = true)
                    .stream()
                    .map(BufferRecord.CODEC::decode)
                    .toList();
            collective.requireEqualSizes(
                    name, given.stream().map(BufferRecord::bytes).toList());
            registered
                    .get(0)
                    .keys(collective.byOpened(
                            given.stream().map(BufferRecord::key).toList(), new byte[0]));
            PostedBuffer<M> made = buffer(name, registered.get(0));
            done = true;
            return opened.buffers().add(made);
        } finally {
            if (!done) {
                registrations.data().close();
                if (registered.isEmpty() || answered[0]) {
                    // No rank has the buffer.
                    registrations.counters().close();
                } else {
                    // Peers that have finished this step will close the buffer.
                    keepCounters(buffer(name, registered.get(0)));
                }
            }
        }
    }

    private PostedBuffer<M> buffer(String name, M memory) {
        Map<Integer, PostedConnection<M>> members = new TreeMap<>(opened.connections());
        members.keySet().retainAll(collective.ranks());
        return new PostedBuffer<>(id(), name, opened.rank(), memory, members, opened.lastRead(), closed -> {
            keepCounters(closed);
            releaseCounters();
            opened.buffers().remove(closed);
        });
    }

    /**
     * Keeps the counters of a buffer that is closed, or was not made, while peers may still write to them: a write to memory that is not
     * registered breaks the connection, and what comes late must not count for a younger buffer.
     */
    private void keepCounters(PostedBuffer<M> closed) {
        synchronized (opened.closing()) {
            opened.closing().add(closed);
        }
    }

    private void releaseCounters() {
        synchronized (opened.closing()) {
            opened.closing().removeIf(closed -> {
                boolean over = closed.isClosedByAll();
                if (over) {
                    closed.closeCounters();
                }
                return over;
            });
        }
    }

    @Override
    public Optional<String> refusal(ExposedMemory.Kind kind) {
        return opened.endpoint().refusal(kind);
    }

    @Override
    public void tryRegister(ExposedMemory memory) {
        opened.endpoint().tryRegister(memory);
    }

    /**
     * The connection to a peer.
     *
     * @throws IllegalArgumentException if the backend does not connect the peer
     */
    public PostedConnection<M> connection(int peer) {
        PostedConnection<M> connection = opened.connections().get(peer);
        if (connection == null) {
            throw new IllegalArgumentException("rank " + peer + " is not connected by " + this);
        }
        return connection;
    }

    @Override
    public List<EpTraffic> traffic() {
        return opened.connections().values().stream()
                .map(PostedConnection::traffic)
                .sorted(Comparator.comparingInt(EpTraffic::peer))
                .toList();
    }

    @Override
    public void close() {
        if (!opened.buffers().close()) {
            return;
        }
        opened.threads().end();
        opened.connections().values().forEach(connection -> connection.end("the backend is closed on this rank"));
        opened.threads().release(() -> {
            // Nothing can come any more.
            synchronized (opened.closing()) {
                opened.closing().forEach(PostedBuffer::closeCounters);
                opened.closing().clear();
            }
            opened.endpoint().close();
        });
    }

    @Override
    public String toString() {
        return id() + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + " over "
                + opened.endpoint();
    }
}
