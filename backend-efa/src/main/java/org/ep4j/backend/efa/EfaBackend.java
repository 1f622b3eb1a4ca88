package org.ep4j.backend.efa;

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

/** The backend, open on one rank. Owns NICs, endpoints, a thread, and the buffers that it made. */
final class EfaBackend implements RecoverableBackend, RegistersMemory {
    /** What is under way when a buffer closes has this long to arrive. */
    static final Duration LINGER = Duration.ofSeconds(2);

    private final OpenContext context;
    private final Collective collective;
    private final Places places;
    private final Map<Integer, Link> links;
    private final Buffers numbers;
    private final Resources resources;
    private final ProgressThread thread;
    private final OpenBuffers<EfaBuffer> buffers;

    EfaBackend(
            OpenContext context,
            Collective collective,
            Places places,
            Map<Integer, Link> links,
            Buffers numbers,
            Resources resources) {
        this.context = context;
        this.collective = collective;
        this.places = places;
        this.links = Map.copyOf(links);
        this.numbers = numbers;
        this.resources = resources;
        this.buffers = new OpenBuffers<>(collective, context.rank());
        this.thread = new ProgressThread(context, List.copyOf(links.values()));
        thread.start();
    }

    /** The same backend among some of its ranks. */
    private EfaBackend(EfaBackend opened, Collective among) {
        this.context = opened.context;
        this.collective = among;
        this.places = opened.places;
        this.links = opened.links;
        this.numbers = opened.numbers;
        this.resources = opened.resources;
        this.buffers = opened.buffers;
        this.thread = opened.thread;
    }

    /** Connects to all peers, so that one that cannot be reached is found now. */
    void greet(Deadline deadline) {
        links.values().forEach(link -> link.greet(deadline));
    }

    @Override
    public String id() {
        return EfaProvider.ID;
    }

    @Override
    public EpBackend among(Bootstrap members, List<Integer> ranks) {
        return new EfaBackend(this, collective.among(members, ranks));
    }

    @Override
    public SymmetricBuffer register(String name, ExposedMemory memory, Duration timeout) {
        buffers.checkOpen();
        Exposure.Exposed exposed = new Exposure(collective, places, numbers)
                .run(name, () -> ExposeArguments.checkRegistered(memory, this::refusal), memory, Deadline.in(timeout));
        Map<Integer, Link> members = new TreeMap<>(links);
        members.keySet().retainAll(collective.ranks());
        return buffers.add(new EfaBuffer(name, context.rank(), memory.memory(), exposed, members, buffers::remove));
    }

    @Override
    public Optional<String> refusal(ExposedMemory.Kind kind) {
        return places.refusal(kind);
    }

    @Override
    public void tryRegister(ExposedMemory memory) {
        try (Resources registered = new Resources()) {
            places.register(memory, registered);
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
        thread.close();
        links.values().forEach(link -> link.end("the backend is closed on this rank"));
        resources.close();
    }

    @Override
    public String toString() {
        return EfaProvider.ID + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + " over "
                + links.values().stream()
                        .flatMap(link -> link.traffic().lanes().stream())
                        .map(EpTraffic.Lane::ports)
                        .distinct()
                        .sorted()
                        .collect(Collectors.joining(", "));
    }
}
