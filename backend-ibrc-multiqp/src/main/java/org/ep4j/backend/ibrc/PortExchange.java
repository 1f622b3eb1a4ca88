package org.ep4j.backend.ibrc;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.engine.collective.Packing;

/**
 * Port capabilities of a rank, exchanged before {@link QueuePairs}.
 *
 * @param atomics true when its NICs can add to words
 * @param lanes most lanes of one of its links
 * @param ports its ports, in the order of their indexes
 */
record PortExchange(boolean atomics, int lanes, List<Port> ports) {
    PortExchange {
        ports = List.copyOf(ports);
    }

    byte[] encode() {
        return Packing.pack(out -> {
            out.put((byte) (atomics ? 1 : 0)).putInt(lanes).putInt(ports.size());
            ports.forEach(port -> port.write(out));
        });
    }

    static PortExchange decode(byte[] bytes) {
        return Packing.unpack(bytes, "its ports", PortExchange::read);
    }

    private static PortExchange read(ByteBuffer in) {
        boolean atomics = in.get() != 0;
        int lanes = in.getInt();
        int count = in.getInt();
        List<Port> ports = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            ports.add(Port.read(in));
        }
        return new PortExchange(atomics, lanes, ports);
    }

    /**
     * A port, as peers connect to it.
     *
     * @param name {@code mlx5_0:1}
     * @param linkLayer 1 for InfiniBand, 2 for Ethernet
     * @param mtu {@code enum ibv_mtu}: 1 for 256 bytes to 5 for 4096
     * @param lid local id in an InfiniBand subnet
     * @param grh true when every packet needs a global header
     * @param incomingAtomics atomic operations of a queue pair that may be under way to it
     * @param gid its global id
     */
    record Port(String name, int linkLayer, int mtu, int lid, boolean grh, int incomingAtomics, Gid gid) {
        private void write(ByteBuffer out) {
            Packing.text(out, name);
            out.put((byte) linkLayer)
                    .put((byte) mtu)
                    .putInt(lid)
                    .put((byte) (grh ? 1 : 0))
                    .putInt(incomingAtomics)
                    .putLong(gid.subnet())
                    .putLong(gid.guid());
        }

        private static Port read(ByteBuffer in) {
            String name = Packing.text(in);
            int linkLayer = in.get();
            int mtu = in.get();
            int lid = in.getInt();
            boolean grh = in.get() != 0;
            int incomingAtomics = in.getInt();
            return new Port(name, linkLayer, mtu, lid, grh, incomingAtomics, new Gid(in.getLong(), in.getLong()));
        }

        /** True when packets to a port need a global header: always on Ethernet, on InfiniBand between subnets. */
        boolean needsHeader(Port to) {
            return linkLayer != Verbs.LINK_INFINIBAND || grh || to.grh || gid.subnet != to.gid.subnet;
        }
    }

    /**
     * A global id.
     *
     * @param subnet its first eight bytes, in the order of the network
     * @param guid the others
     */
    record Gid(long subnet, long guid) {
        static Gid of(ByteBuffer bytes) {
            ByteBuffer in = bytes.duplicate().order(ByteOrder.BIG_ENDIAN);
            return new Gid(in.getLong(0), in.getLong(8));
        }

        byte[] bytes() {
            return ByteBuffer.allocate(16).putLong(subnet).putLong(guid).array();
        }
    }

    /**
     * Queue pairs and control memory of a rank, exchanged before the queue pairs are connected.
     *
     * @param memory the control memory
     * @param byPeer queue pairs to each peer, by the peer's rank and then by lane
     */
    record QueuePairs(Region.Remote memory, Map<Integer, List<QueuePair>> byPeer) {
        byte[] encode() {
            return Packing.pack(out -> {
                memory.write(out);
                out.putInt(byPeer.size());
                byPeer.forEach((peer, lanes) -> {
                    out.putInt(peer);
                    Packing.ints(out, lanes.stream().map(QueuePair::number).toList());
                    Packing.ints(out, lanes.stream().map(QueuePair::firstPacket).toList());
                });
            });
        }

        static QueuePairs decode(byte[] bytes) {
            return Packing.unpack(bytes, "its queue pairs", in -> {
                Region.Remote memory = Region.Remote.read(in);
                Map<Integer, List<QueuePair>> byPeer = new TreeMap<>();
                int count = in.getInt();
                for (int i = 0; i < count; i++) {
                    int peer = in.getInt();
                    byPeer.put(peer, zip(Packing.ints(in), Packing.ints(in)));
                }
                return new QueuePairs(memory, byPeer);
            });
        }

        private static List<QueuePair> zip(List<Integer> numbers, List<Integer> firstPackets) {
            if (numbers.size() != firstPackets.size()) {
                throw new IllegalArgumentException(
                        numbers.size() + " numbers, " + firstPackets.size() + " first packets");
            }
            List<QueuePair> all = new ArrayList<>();
            for (int i = 0; i < numbers.size(); i++) {
                all.add(new QueuePair(numbers.get(i), firstPackets.get(i)));
            }
            return all;
        }
    }

    /**
     * A queue pair, as the peer connects its own to it.
     *
     * @param number of it on its device
     * @param firstPacket number of the first packet that it sends: any, so that packets of a queue pair that had the
     *     number before are not taken for its own
     */
    record QueuePair(int number, int firstPacket) {}
}
