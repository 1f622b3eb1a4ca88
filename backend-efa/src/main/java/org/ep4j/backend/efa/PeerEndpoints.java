package org.ep4j.backend.efa;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.engine.collective.Packing;

/**
 * The endpoints that a rank has opened for one peer.
 *
 * @param provider of libfabric
 * @param ends by rail
 * @param records where the peer writes its records, with keys by rail
 */
record PeerEndpoints(String provider, List<End> ends, Region records) {
    PeerEndpoints {
        ends = List.copyOf(ends);
    }

    /**
     * One endpoint.
     *
     * @param nic that it is on
     * @param place of the keys for it
     * @param name its address, as libfabric gives it
     */
    @SuppressWarnings("ArrayRecordComponent") // not compared, and nobody changes the array
    record End(String nic, int place, byte[] name) {}

    /** Encodes the endpoints for all peers, by their ranks. */
    static byte[] encode(Map<Integer, PeerEndpoints> peers) {
        return Packing.pack(out -> {
            out.putInt(peers.size());
            new TreeMap<>(peers).forEach((rank, peer) -> {
                out.putInt(rank);
                Packing.text(out, peer.provider());
                out.putInt(peer.ends().size());
                for (End end : peer.ends()) {
                    Packing.text(out, end.nic());
                    out.putInt(end.place()).putInt(end.name().length).put(end.name());
                }
                peer.records().write(out);
            });
        });
    }

    /** Decodes what {@link #encode} made. */
    static Map<Integer, PeerEndpoints> decode(byte[] bytes) {
        return Packing.unpack(bytes, "its endpoints", PeerEndpoints::read);
    }

    private static Map<Integer, PeerEndpoints> read(ByteBuffer in) {
        Map<Integer, PeerEndpoints> peers = new TreeMap<>();
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
            peers.put(rank, new PeerEndpoints(provider, ends, Region.read(in)));
        }
        return peers;
    }
}
