package org.ep4j.backend.ibrc;

import java.lang.ref.Reference;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpMismatchException;
import org.ep4j.EpResourceException;
import org.ep4j.config.EpKeys;
import org.ep4j.transport.memory.NativeRecord;
import org.ep4j.transport.memory.Resources;

/** Makes and connects the queue pairs to one peer. For one thread. */
final class Connector {
    /** Bytes of a packet by {@code enum ibv_mtu}, from 1; 0 for what both ports have. */
    private static final List<String> MTU = List.of("0", "256", "512", "1024", "2048", "4096");

    /** Packets are numbered with 24 bits. */
    private static final int PACKET_BITS = 24;

    private final Pairing pairing;
    private final Ports ports;
    private final EpConfig config;
    private final boolean atomics;
    private final Resources resources;
    private final Map<String, Long> queues = new HashMap<>();
    private final long[] queuePairs;
    private final List<PortExchange.QueuePair> own = new ArrayList<>();
    private final int[] depths;
    private final int[] inlines;

    Connector(Pairing pairing, Ports ports, EpConfig config, boolean atomics, Resources resources) {
        this.pairing = pairing;
        this.ports = ports;
        this.config = config;
        this.atomics = atomics;
        this.resources = resources;
        this.queuePairs = new long[pairing.lanes()];
        this.depths = new int[pairing.lanes()];
        this.inlines = new int[pairing.lanes()];
    }

    Pairing pairing() {
        return pairing;
    }

    private int port(int lane) {
        return ports.index(pairing.mine().get(lane % pairing.rails()));
    }

    private LocalPort local(int lane) {
        return ports.list().get(port(lane));
    }

    private int depth(NicDevice device) {
        return Math.min(IbrcKeys.DEPTH.get(config), device.maxRequests());
    }

    private int receives(NicDevice device) {
        return atomics ? 0 : depth(device);
    }

    /** Makes the queue pairs; returns them as the peer has to know them. */
    List<PortExchange.QueuePair> create() {
        SecureRandom random = new SecureRandom();
        for (int lane = 0; lane < queuePairs.length; lane++) {
            LocalPort port = local(lane);
            NicDevice device = port.device();
            NativeRecord caps = new NativeRecord(16)
                    .set(0, depth(device))
                    .set(1, Math.max(1, receives(device)))
                    .set(2, IbrcKeys.INLINE.get(config));
            long qp = createQueuePair(device, caps, lane);
            resources.add(() -> Verbs.destroyQp(qp));
            queuePairs[lane] = qp;
            own.add(new PortExchange.QueuePair(caps.get(3), random.nextInt(1 << PACKET_BITS)));
            depths[lane] = depth(device);
            inlines[lane] = caps.get(2);
            String name = port.record().name();
            Errno.check(Verbs.toInit(qp, port.number(), IbrcKeys.PKEY.get(config)), "ibv_modify_qp to INIT on " + name);
            if (!atomics) {
                postReceives(qp, lane, receives(device), name);
            }
        }
        return List.copyOf(own);
    }

    private static void postReceives(long qp, int lane, int count, String name) {
        long posted =
                Errno.check(Verbs.postReceives(qp, Completions.receiveId(lane), count), "ibv_post_recv on " + name);
        if (posted < count) {
            throw new EpResourceException("a queue pair on " + name + " accepted only " + posted + " of the " + count
                    + " receive work requests that it was created for; lower " + IbrcKeys.DEPTH.name());
        }
    }

    private long createQueuePair(NicDevice device, NativeRecord caps, int lane) {
        long queue = queue(device);
        long qp = Verbs.createQp(device.pd(), queue, caps.address());
        if (qp == -Errno.EINVAL && caps.get(2) > 0) {
            // Some devices refuse to carry bytes inside requests instead of offering fewer.
            caps.set(2, 0);
            qp = Verbs.createQp(device.pd(), queue, caps.address());
        }
        return Errno.check(
                qp,
                "ibv_create_qp number " + lane + " of " + queuePairs.length + " with " + caps.get(0) + " requests on "
                        + device.name());
    }

    /** Completions of all lanes of a device go to one queue, which can hold them all. */
    private long queue(NicDevice device) {
        Long known = queues.get(device.name());
        if (known != null) {
            return known;
        }
        long wanted = 0;
        for (int lane = 0; lane < queuePairs.length; lane++) {
            if (local(lane).device().equals(device)) {
                wanted += depth(device) + receives(device);
            }
        }
        if (wanted > device.maxCompletions()) {
            throw new EpResourceException("the queue pairs of " + device.name() + " to a peer need room for "
                    + wanted + " completions, but a completion queue of this device holds at most "
                    + device.maxCompletions()
                    + "; lower "
                    + IbrcKeys.DEPTH.name() + " (" + IbrcKeys.DEPTH.get(config) + ") or "
                    + IbrcKeys.QUEUE_PAIRS.name());
        }
        long queue = Errno.check(
                Verbs.createCq(device.context(), (int) wanted),
                "ibv_create_cq of " + wanted + " entries on " + device.name());
        resources.add(() -> Verbs.destroyCq(queue));
        queues.put(device.name(), queue);
        return queue;
    }

    /**
     * Connects them to the peer's.
     *
     * @param peer name of the peer for messages
     * @param theirPorts the peer's ports
     * @param theirs the peer's queue pairs
     */
    Connected connect(
            String peer,
            List<PortExchange.Port> theirPorts,
            List<PortExchange.QueuePair> theirs,
            LinkSettings settings) {
        if (theirs.size() != queuePairs.length) {
            throw new EpMismatchException(
                    peer + " has " + theirs.size() + " queue pairs to this rank, but this rank has " + queuePairs.length
                            + " to that rank; use the same settings on all ranks");
        }
        Lane[] lanes = new Lane[queuePairs.length];
        for (int lane = 0; lane < lanes.length; lane++) {
            LocalPort port = local(lane);
            int remote = remotePort(theirPorts, pairing.theirs().get(lane % pairing.rails()), peer);
            PortExchange.Port to = theirPorts.get(remote);
            String name = port.record().name() + " to " + to.name();
            NativeRecord connection = connection(port, to, theirs.get(lane), own.get(lane));
            try {
                Errno.check(
                        Verbs.toReady(queuePairs[lane], connection.address()),
                        "connecting " + name + " of " + peer + " (from GID index " + port.gidIndex() + ")"
                                + pairing.doubt());
            } finally {
                Reference.reachabilityFence(connection);
            }
            Lane.Ends ends = new Lane.Ends(
                    queuePairs[lane],
                    port(lane),
                    remote,
                    depths[lane],
                    receives(port.device()),
                    inlines[lane],
                    port.maxMessage(),
                    port.record().name(),
                    name);
            lanes[lane] =
                    new Lane(lane, lane % pairing.rails(), ends, port.device().flow(), settings);
        }
        long[] all = queues.values().stream().mapToLong(Long::longValue).toArray();
        return new Connected(List.of(lanes), new VerbsWire(queuePairs, all));
    }

    private static int remotePort(List<PortExchange.Port> ports, String name, String peer) {
        for (int i = 0; i < ports.size(); i++) {
            if (ports.get(i).name().equals(name)) {
                return i;
            }
        }
        throw new EpMismatchException(peer + " did not open port " + name + "; use the same settings on all ranks");
    }

    private NativeRecord connection(
            LocalPort from, PortExchange.Port to, PortExchange.QueuePair theirs, PortExchange.QueuePair mine) {
        NicDevice device = from.device();
        int incoming = from.record().incomingAtomics();
        int outgoing =
                Math.min(IbrcKeys.READS.get(config), Math.min(device.maxOutgoingAtomics(), to.incomingAtomics()));
        NativeRecord connection = new NativeRecord(72)
                .set(0, mtu(from.record(), to))
                .set(1, theirs.number())
                .set(2, Math.min(255, incoming))
                .set(3, from.number())
                .set(4, to.lid())
                .set(5, Math.max(0, EpKeys.NIC_SERVICE_LEVEL.get(config)))
                .set(6, from.record().needsHeader(to) ? from.gidIndex() : -1)
                .set(7, Math.max(0, EpKeys.NIC_TRAFFIC_CLASS.get(config)))
                .set(8, Math.max(1, Math.min(255, outgoing)))
                .set(9, IbrcKeys.TIMEOUT.get(config))
                .set(10, from.retries())
                .set(11, IbrcKeys.RNR_RETRIES.get(config))
                .set(16, theirs.firstPacket())
                .set(17, mine.firstPacket());
        connection.buffer().put(48, to.gid().bytes());
        return connection;
    }

    private int mtu(PortExchange.Port from, PortExchange.Port to) {
        int both = Math.min(from.mtu(), to.mtu());
        int wanted = MTU.indexOf(IbrcKeys.MTU.get(config));
        return wanted == 0 ? both : Math.min(wanted, both);
    }

    /**
     * Connected queue pairs.
     *
     * @param lanes all of them
     * @param wire the verbs below them
     */
    record Connected(List<Lane> lanes, Wire wire) {
        Connected {
            lanes = List.copyOf(lanes);
        }
    }
}
