package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.Bootstrap;
import org.ep4j.EpTraffic;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.ExposeArguments;
import org.ep4j.transport.OpenBuffers;
import org.ep4j.transport.memory.Resources;

/** The backend, open on one rank. Owns ports, queue pairs, threads, and the buffers that it made. */
final class IbrcBackend implements RecoverableBackend, RegistersMemory {
    /** What is under way when a buffer closes has this long to be acknowledged by the NICs of the peers. */
    static final Duration LINGER = Duration.ofSeconds(2);

    private final OpenContext context;
    private final Collective collective;
    private final Ports ports;
    private final Map<Integer, Link> links;
    private final Buffers numbers;
    private final LinkPoller.Budget polls;
    private final ClosedCounters closed;
    private final boolean atomics;
    private final ProgressThreads threads;
    private final OpenBuffers<IbrcBuffer> buffers;

    IbrcBackend(
            OpenContext context,
            Collective collective,
            Ports ports,
            Map<Integer, Link> links,
            Buffers numbers,
            boolean atomics,
            Resources resources) {
        this.context = context;
        this.collective = collective;
        this.ports = ports;
        this.links = Map.copyOf(links);
        this.numbers = numbers;
        this.atomics = atomics;
        this.polls = new LinkPoller.Budget();
        this.closed = new ClosedCounters();
        resources.add(closed::close);
        this.buffers = new OpenBuffers<>(collective, context.rank());
        this.threads = new ProgressThreads(context, ports, List.copyOf(links.values()), resources);
        threads.start();
    }

    /** The same backend among some of its ranks. */
    private IbrcBackend(IbrcBackend opened, Collective among) {
        this.context = opened.context;
        this.collective = among;
        this.ports = opened.ports;
        this.links = opened.links;
        this.numbers = opened.numbers;
        this.polls = opened.polls;
        this.closed = opened.closed;
        this.atomics = opened.atomics;
        this.threads = opened.threads;
        this.buffers = opened.buffers;
    }

    @Override
    public String id() {
        return IbrcProvider.ID;
    }

    @Override
    public EpBackend among(Bootstrap members, List<Integer> ranks) {
        return new IbrcBackend(this, collective.among(members, ranks));
    }

    @Override
    public SymmetricBuffer register(String name, ExposedMemory memory, Duration timeout) {
        buffers.checkOpen();
        closed.release();
        Map<Integer, Link> members = new TreeMap<>(links);
        members.keySet().retainAll(collective.ranks());
        Exposure exposure = new Exposure(
                collective, ports, numbers, IbrcKeys.RELAXED_ORDERING.get(context.config()), members.values(), closed);
        Exposure.Exposed exposed = exposure.run(
                name, () -> ExposeArguments.checkRegistered(memory, this::refusal), memory, Deadline.in(timeout));
        return buffers.add(new IbrcBuffer(
                name,
                context.rank(),
                context.ranks().indexOf(context.rank()),
                memory.memory(),
                exposed,
                members,
                polls,
                atomics,
                closed,
                buffers::remove));
    }

    @Override
    public Optional<String> refusal(ExposedMemory.Kind kind) {
        return GpuMemory.refusal(
                kind,
                ports.devices().stream()
                        .filter(device -> !device.dmabuf())
                        .map(NicDevice::name)
                        .toList(),
                GpuMemory.peerMemoryRefusal(context.device().id()));
    }

    @Override
    public void tryRegister(ExposedMemory memory) {
        try (Resources registered = new Resources()) {
            Access access = Exposure.dataAccess(IbrcKeys.RELAXED_ORDERING.get(context.config()), memory);
            ports.register(memory, access, registered);
        }
    }

    /** The link to a peer that the backend connects. */
    Link link(int peer) {
        Link link = links.get(peer);
        if (link == null) {
            throw new IllegalArgumentException("rank " + peer + " is not connected by " + this);
        }
        return link;
    }

    @Override
    public List<EpTraffic> traffic() {
        return links.values().stream()
                .map(Link::traffic)
                .sorted(Comparator.comparingInt(EpTraffic::peer))
                .toList();
    }

    @Override
    public void close() {
        if (!buffers.close()) {
            return;
        }
        threads.close();
        links.values().forEach(link -> link.end("the backend is closed on this rank"));
        threads.release();
    }

    @Override
    public String toString() {
        return IbrcProvider.ID + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + " over "
                + ports.list().stream().map(port -> port.record().name()).collect(Collectors.joining(", "))
                + (atomics ? ", counters by atomic operations" : "");
    }
}
