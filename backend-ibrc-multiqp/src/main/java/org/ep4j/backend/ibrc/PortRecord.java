package org.ep4j.backend.ibrc;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.engine.collective.Packing;

/**
 * What peers need to know of a port.
 *
 * @param name {@code mlx5_0:1}
 * @param linkLayer 1 for InfiniBand, 2 for Ethernet
 * @param mtu {@code enum ibv_mtu}: 1 for 256 bytes to 5 for 4096
 * @param lid local id in an InfiniBand subnet
 * @param grh true when every packet needs a global header
 * @param incomingAtomics atomic operations of a queue pair that may be under way to it
 * @param gid its global id
 */
record PortRecord(String name, int linkLayer, int mtu, int lid, boolean grh, int incomingAtomics, Gid gid) {
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

    void write(ByteBuffer out) {
        Packing.text(out, name);
        out.put((byte) linkLayer)
                .put((byte) mtu)
                .putInt(lid)
                .put((byte) (grh ? 1 : 0))
                .putInt(incomingAtomics)
                .putLong(gid.subnet())
                .putLong(gid.guid());
    }

    static PortRecord read(ByteBuffer in) {
        String name = Packing.text(in);
        int linkLayer = in.get();
        int mtu = in.get();
        int lid = in.getInt();
        boolean grh = in.get() != 0;
        int incomingAtomics = in.getInt();
        return new PortRecord(name, linkLayer, mtu, lid, grh, incomingAtomics, new Gid(in.getLong(), in.getLong()));
    }

    /** True when packets to a port need a global header: always on Ethernet, on InfiniBand between subnets. */
    boolean needsHeader(PortRecord to) {
        return linkLayer != Verbs.LINK_INFINIBAND || grh || to.grh || gid.subnet != to.gid.subnet;
    }
}
