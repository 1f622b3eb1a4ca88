package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Collectors;
import org.ep4j.EpResourceException;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.memory.WordMemory;
import org.ep4j.transport.posted.PollPause;
import org.ep4j.transport.posted.PostedConnection;
import org.ep4j.transport.posted.PostedEndpoint;
import org.ep4j.transport.posted.PostedMemory.Registrations;
import org.ep4j.transport.posted.PostedPeer;
import org.jspecify.annotations.Nullable;

/** The ports of one rank, with queue pairs for each peer, and memory for the words of all links. */
final class IbrcEndpoint implements PostedEndpoint<IbrcMemory> {
    private final OpenContext context;
    private final List<Integer> peers;
    private final int self;
    private final Resources resources = new Resources();
    private final Buffers buffers = new Buffers();
    private final Map<Integer, Pairing> pairings = new TreeMap<>();
    private final Map<Integer, Connector> connectors = new TreeMap<>();
    private final List<Link> links = new ArrayList<>();
    private Ports ports = new Ports();
    private List<PortExchange> exchanged = List.of();
    private boolean atomics;
    private LinkMemory.Layout layout = new LinkMemory.Layout(0, 0);
    private @Nullable Control control;
    private List<PortExchange.QueuePairs> queuePairs = List.of();
    /** The control memory of all ranks, once it is known. */
    private @Nullable Region region;

    /**
     * Memory of this rank for the words of all links.
     *
     * @param keys of its registration
     */
    private record Control(WordMemory memory, Ports.Keys keys) {}

    IbrcEndpoint(OpenContext context, List<Integer> peers) {
        this.context = context;
        this.peers = peers;
        this.self = context.ranks().indexOf(context.rank());
    }

    /** Opens ports, and agrees on what all ranks have. */
    @Override
    public void prepare(Collective collective, Deadline deadline) {
        exchanged = collective.step("ports", deadline, this::openPorts).stream()
                .map(PortExchange.CODEC::decode)
                .toList();
        atomics = exchanged.stream().allMatch(PortExchange::atomics);
        int lanes = exchanged.stream().mapToInt(PortExchange::lanes).max().orElse(1);
        layout = new LinkMemory.Layout(exchanged.size(), new Words(lanes, lanes).bytes());
    }

    private byte[] openPorts() {
        VerbsLibrary.JNI.require();
        GroupPlan plan = GroupPlan.of(context.plan());
        for (int peer : peers) {
            pairings.put(peer, Pairing.of(plan, context.rank(), peer, context.config()));
        }
        TreeSet<String> names = new TreeSet<>();
        pairings.values().forEach(pairing -> names.addAll(pairing.mine()));
        if (names.isEmpty()) {
            throw new EpUnavailableException("the plan gives this rank no NIC for " + IbrcProvider.ID
                    + "; see ./ep plan, and the settings ep.nic.include and ep.nic.map");
        }
        ports = Ports.open(names, Ports.topology(), context.config());
        resources.add(ports::close);
        boolean mine = IbrcKeys.COUNTERS.get(context.config()).equals(IbrcKeys.ATOMIC)
                && ports.devices().stream().allMatch(NicDevice::atomics);
        int lanes = pairings.values().stream().mapToInt(Pairing::lanes).max().orElse(1);
        return PortExchange.CODEC.encode(new PortExchange(
                mine, lanes, ports.list().stream().map(LocalPort::record).toList()));
    }

    /** Makes the queue pairs, and the control memory of this rank. */
    @Override
    public byte[] address() {
        WordMemory words = WordMemory.allocate(layout.bytes());
        resources.hold(words);
        Ports.Keys keys = ports.registerWords(words.address(), layout.bytes(), resources);
        words.words().putLongRelease(layout.one(), 1);
        control = new Control(words, keys);
        for (NicDevice device : ports.devices()) {
            checkQueuePairs(device.name(), queuePairs(device), device.maxQueuePairs());
        }
        Map<Integer, List<PortExchange.QueuePair>> byPeer = new TreeMap<>();
        pairings.forEach((peer, pairing) -> {
            Connector connector = new Connector(pairing, ports, context.config(), atomics, resources);
            connectors.put(peer, connector);
            byPeer.put(peer, connector.create());
        });
        return PortExchange.QueuePairs.CODEC.encode(
                new PortExchange.QueuePairs(new Region.Remote(words.address(), keys.remote()), byPeer));
    }

    private long queuePairs(NicDevice device) {
        return pairings.values().stream()
                .mapToLong(pairing -> pairing.mine().stream()
                                .filter(port -> Ports.device(port).equals(device.name()))
                                .count()
                        * (pairing.lanes() / pairing.rails()))
                .sum();
    }

    /** A device says no more than that it has no room, which may have other reasons. */
    static void checkQueuePairs(String device, long wanted, int most) {
        if (wanted > most) {
            throw new EpResourceException(
                    "this rank needs " + wanted + " queue pairs on " + device + ", which supports " + most
                            + " for all processes together; lower ep.lanes or " + IbrcKeys.QUEUE_PAIRS.name());
        }
    }

    @Override
    public PostedConnection<IbrcMemory> connect(PostedPeer peer, List<byte[]> addresses) {
        Control own = Objects.requireNonNull(control);
        Region all = region;
        if (all == null) {
            queuePairs = addresses.stream()
                    .map(PortExchange.QueuePairs.CODEC::decode)
                    .toList();
            all = Region.ofWords(
                    own.memory().address(),
                    own.keys().local(),
                    queuePairs.stream().map(PortExchange.QueuePairs::memory).toList());
            region = all;
        }
        Connector connector = Objects.requireNonNull(connectors.get(peer.rank()));
        Pairing pairing = connector.pairing();
        LinkSettings settings = LinkSettings.from(context.config());
        Connector.Connected connected = connector.connect(
                peer.label(),
                exchanged.get(peer.index()).ports(),
                queuePairs.get(peer.index()).byPeer().getOrDefault(context.rank(), List.of()),
                settings);
        LinkMemory memory = new LinkMemory(
                new Words(pairing.lanes(), pairing.rails()),
                layout,
                all,
                own.memory().words(),
                self,
                peer.index(),
                buffers);
        // Neighbours begin on different ports.
        Lanes lanes = new Lanes(connected.lanes(), (self + peer.index()) % pairing.lanes(), settings);
        Link link = new Link(peer, memory, settings, atomics, lanes, pairing.rails(), connected.wire());
        links.add(link);
        return link;
    }

    /** A thread for each device. */
    @Override
    public List<PollPause> pauses(String name) {
        return ports.devices().stream()
                .<PollPause>map(device -> new EventPause(name + "-" + device.name(), device, ports.list(), links))
                .toList();
    }

    @Override
    public IbrcMemory register(ExposedMemory memory, Registrations registrations) {
        int ranks = context.ranks().size();
        long bytes = IbrcMemory.bytes(ranks);
        WordMemory words = WordMemory.allocate(bytes);
        registrations.counters().hold(words);
        Buffers.Counted counted = new Buffers.Counted(words.words(), new AtomicLongArray(ranks));
        int number = buffers.add(counted);
        registrations.counters().add(() -> buffers.remove(number));
        Ports.Keys counterKeys = ports.registerWords(words.address(), bytes, registrations.counters());
        Ports.Keys dataKeys = ports.register(memory, dataAccess(memory), registrations.data());
        return new IbrcMemory(
                memory,
                ranks,
                registrations,
                counted,
                new IbrcMemory.LocalKeys(dataKeys.local(), counterKeys.local()),
                new IbrcMemory.Key(
                        number,
                        new Region.Remote(memory.memory().address(), dataKeys.remote()),
                        new Region.Remote(words.address(), counterKeys.remote())),
                atomics,
                links);
    }

    private Access dataAccess(ExposedMemory memory) {
        return dataAccess(IbrcKeys.RELAXED_ORDERING.get(context.config()), memory);
    }

    /**
     * No more than data needs: what nobody reads from afar, nobody may. Memory of AMD GPUs is never written in relaxed order: what
     * makes writes seen there, a store of the host to a register of the GPU, pushes those before it that are ordered.
     */
    static Access dataAccess(boolean relaxedOrdering, ExposedMemory memory) {
        boolean relaxed = relaxedOrdering && !memory.memory().device().type().equals("hip");
        return relaxed ? Access.RELAXED_DATA : Access.DATA;
    }

    @Override
    public void tryRegister(ExposedMemory memory) {
        try (Resources registered = new Resources()) {
            ports.register(memory, dataAccess(memory), registered);
        }
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
    public void close() {
        resources.close();
    }

    @Override
    public String toString() {
        return ports.list().stream().map(port -> port.record().name()).collect(Collectors.joining(", "))
                + (atomics ? ", counters by atomic operations" : "");
    }
}
