package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.ep4j.EpResourceException;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.memory.WordMemory;

/** Opens the backend on one rank: ports, then queue pairs, then connections. For one thread. */
final class Opening {
    private final OpenContext context;
    private final Collective collective;
    private final Resources resources = new Resources();
    private final Buffers buffers = new Buffers();
    private final Map<Integer, Pairing> pairings = new TreeMap<>();
    private final Map<Integer, Connector> connectors = new TreeMap<>();
    private final List<Ports> opened = new ArrayList<>(1);

    Opening(OpenContext context) {
        this.context = context;
        this.collective = new Collective(IbrcProvider.ID, context);
    }

    IbrcBackend run() {
        Deadline deadline = Deadline.in(context.timeout());
        boolean done = false;
        try {
            List<PortExchange> ports = collective.step("ports", deadline, this::openPorts).stream()
                    .map(PortExchange.CODEC::decode)
                    .toList();
            boolean atomics = ports.stream().allMatch(PortExchange::atomics);
            int lanes = ports.stream().mapToInt(PortExchange::lanes).max().orElse(1);
            LinkMemory.Layout layout = new LinkMemory.Layout(ports.size(), new Words(lanes, lanes).bytes());
            List<ControlMemory> control = new ArrayList<>(1);
            List<PortExchange.QueuePairs> pairs = collective
                    .step("queue-pairs", deadline, () -> {
                        control.add(allocate(layout));
                        return PortExchange.QueuePairs.CODEC.encode(create(control.get(0), atomics));
                    })
                    .stream()
                    .map(PortExchange.QueuePairs.CODEC::decode)
                    .toList();
            Map<Integer, Link> links = new TreeMap<>();
            collective.step("connect", deadline, () -> {
                Region region = region(control.get(0), pairs);
                connectors.forEach((peer, connector) -> links.put(
                        peer, connect(peer, connector, region, control.get(0), layout, ports, pairs, atomics)));
                return new byte[0];
            });
            IbrcBackend backend =
                    new IbrcBackend(context, collective, opened.get(0), links, buffers, atomics, resources);
            done = true;
            return backend;
        } finally {
            if (!done) {
                resources.close();
            }
        }
    }

    private byte[] openPorts() {
        VerbsLibrary.require();
        GroupPlan plan = GroupPlan.of(context.plan());
        TreeSet<String> names = new TreeSet<>();
        int lanes = 1;
        for (int peer : context.ranks()) {
            if (Pairing.connects(plan, context.rank(), peer)) {
                Pairing pairing = Pairing.of(plan, context.rank(), peer, context.config());
                pairings.put(peer, pairing);
                names.addAll(pairing.mine());
                lanes = Math.max(lanes, pairing.lanes());
            }
        }
        if (names.isEmpty()) {
            throw new EpUnavailableException("the plan gives this rank no NIC for " + IbrcProvider.ID
                    + "; see ./ep plan, and the settings ep.nic.include and ep.nic.map");
        }
        Ports ports = Ports.open(names, Ports.topology(), context.config());
        resources.add(ports::close);
        opened.add(ports);
        boolean atomics = IbrcKeys.COUNTERS.get(context.config()).equals(IbrcKeys.ATOMIC)
                && ports.devices().stream().allMatch(NicDevice::atomics);
        return PortExchange.CODEC.encode(new PortExchange(
                atomics, lanes, ports.list().stream().map(LocalPort::record).toList()));
    }

    /**
     * The control memory of this rank.
     *
     * @param address first byte
     * @param words to read it with
     * @param keys of its registration
     */
    record ControlMemory(long address, HostMemory words, Ports.Keys keys) {}

    private ControlMemory allocate(LinkMemory.Layout layout) {
        WordMemory memory = WordMemory.allocate(layout.bytes());
        resources.hold(memory);
        HostMemory words = memory.words();
        Ports.Keys keys = opened.get(0).registerWords(memory.address(), layout.bytes(), resources);
        words.putLongRelease(layout.one(), 1);
        return new ControlMemory(memory.address(), words, keys);
    }

    private PortExchange.QueuePairs create(ControlMemory control, boolean atomics) {
        for (NicDevice device : opened.get(0).devices()) {
            checkQueuePairs(device.name(), queuePairs(device), device.maxQueuePairs());
        }
        Map<Integer, List<PortExchange.QueuePair>> byPeer = new TreeMap<>();
        pairings.forEach((peer, pairing) -> {
            Connector connector = new Connector(pairing, opened.get(0), context.config(), atomics, resources);
            connectors.put(peer, connector);
            byPeer.put(peer, connector.create());
        });
        return new PortExchange.QueuePairs(
                new Region.Remote(control.address(), control.keys().remote()), byPeer);
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

    private static Region region(ControlMemory control, List<PortExchange.QueuePairs> pairs) {
        return Region.ofWords(
                control.address(),
                control.keys().local(),
                pairs.stream().map(PortExchange.QueuePairs::memory).toList());
    }

    private Link connect(
            int peer,
            Connector connector,
            Region region,
            ControlMemory control,
            LinkMemory.Layout layout,
            List<PortExchange> ports,
            List<PortExchange.QueuePairs> pairs,
            boolean atomics) {
        int self = context.ranks().indexOf(context.rank());
        int index = context.ranks().indexOf(peer);
        Pairing pairing = connector.pairing();
        LinkSettings settings = LinkSettings.from(context.config());
        String label = collective.label(peer);
        List<PortExchange.QueuePair> theirs = pairs.get(index).byPeer().getOrDefault(context.rank(), List.of());
        Connector.Connected connected =
                connector.connect(label, ports.get(index).ports(), theirs, settings);
        LinkMemory memory = new LinkMemory(
                new Words(pairing.lanes(), pairing.rails()), layout, region, control.words(), self, index, buffers);
        // Neighbours begin on different ports.
        LinkPeer to = new LinkPeer(
                peer,
                index,
                label,
                collective.about("host-posted writes", peer).build(),
                (self + index) % pairing.lanes());
        return new Link(to, memory, settings, atomics, connected.lanes(), connected.rails(), connected.wire());
    }
}
