package org.ep4j.backend.efa;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.engine.collective.Packing;

/**
 * What a rank tells of the endpoints that it has made for its peers.
 *
 * @param peers by their ranks
 */
record EndpointRecords(Map<Integer, OfPeer> peers) {
    EndpointRecords {
        peers = Map.copyOf(peers);
    }

    /**
     * What is for one peer.
     *
     * @param provider of libfabric
     * @param ends by rail
     * @param records where the peer writes its records, with keys by rail
     */
    record OfPeer(String provider, List<End> ends, Region records) {
        OfPeer {
            ends = List.copyOf(ends);
        }
    }

    /** One endpoint: the NIC, the place of the keys for it, and its address. */
    static final class End {
        private final String nic;
        private final int place;
        private final byte[] name;

        End(String nic, int place, byte[] name) {
            this.nic = nic;
            this.place = place;
            this.name = name.clone();
        }

        String nic() {
            return nic;
        }

        int place() {
            return place;
        }

        byte[] name() {
            return name.clone();
        }
    }

    byte[] encode() {
        return Packing.pack(out -> {
            out.putInt(peers.size());
            new TreeMap<>(peers).forEach((rank, peer) -> {
                out.putInt(rank);
                Packing.text(out, peer.provider());
                out.putInt(peer.ends().size());
                for (End end : peer.ends()) {
                    Packing.text(out, end.nic);
                    out.putInt(end.place).putInt(end.name.length).put(end.name);
                }
                peer.records().write(out);
            });
        });
    }

    static EndpointRecords decode(byte[] bytes) {
        return Packing.unpack(bytes, "its endpoints", EndpointRecords::read);
    }

    private static EndpointRecords read(ByteBuffer in) {
        Map<Integer, OfPeer> peers = new TreeMap<>();
        int count = in.getInt();
        for (int i = 0; i < count; i++) {
            int rank = in.getInt();
            String provider = Packing.text(in);
            int rails = in.getInt();
            List<End> ends = new ArrayList<>();
            for (int r = 0; r < rails; r++) {
                String nic = Packing.text(in);
                int place = in.getInt();
                int length = in.getInt();
                if (length < 0 || length > in.remaining()) {
                    throw new IllegalArgumentException("a name of " + length + " bytes");
                }
                byte[] name = new byte[length];
                in.get(name);
                ends.add(new End(nic, place, name));
            }
            peers.put(rank, new OfPeer(provider, ends, Region.read(in)));
        }
        return new EndpointRecords(peers);
    }
}
