package org.ep4j.backend.efa;

import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Map;
import org.ep4j.plan.RecordCodec;

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

    /**
     * The endpoints that a rank has opened for all peers.
     *
     * @param endpoints by the peer's rank
     */
    record ByPeer(Map<Integer, PeerEndpoints> endpoints) {
        static final RecordCodec<ByPeer> CODEC =
                new RecordCodec<>(MethodHandles.lookup(), ByPeer.class, "its endpoints", 3);
    }
}
