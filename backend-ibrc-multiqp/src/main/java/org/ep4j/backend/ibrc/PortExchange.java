package org.ep4j.backend.ibrc;

import java.lang.invoke.MethodHandles;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import org.ep4j.plan.RecordCodec;

/**
 * Port capabilities of a rank, exchanged before {@link QueuePairs}.
 *
 * @param atomics true when its NICs can add to words
 * @param lanes most lanes of one of its links
 * @param ports its ports, in the order of their indexes
 */
record PortExchange(boolean atomics, int lanes, List<Port> ports) {
    static final RecordCodec<PortExchange> CODEC =
            new RecordCodec<>(MethodHandles.lookup(), PortExchange.class, "its ports", 2);

    PortExchange {
        ports = List.copyOf(ports);
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
        static final RecordCodec<QueuePairs> CODEC =
                new RecordCodec<>(MethodHandles.lookup(), QueuePairs.class, "its queue pairs", 2);
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
