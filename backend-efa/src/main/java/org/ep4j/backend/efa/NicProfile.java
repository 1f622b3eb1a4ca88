package org.ep4j.backend.efa;

import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.topology.NicFamily;

/**
 * What a kind of NIC takes, and what settings say instead.
 *
 * @param limits what this rank may have in flight on it, to all peers
 * @param largeWrites writes of {@link Rail#LARGE} bytes or more that an endpoint, of which each peer has one, has room for
 * @param smallWrites smaller writes that it has room for
 * @param burst writes that may be posted before completions are polled
 * @param registrationChunk bytes of memory that are registered at once
 */
record NicProfile(FlowLimits limits, int largeWrites, int smallWrites, int burst, long registrationChunk) {
    private static final int LARGE_WRITES = 8;

    private static final int SMALL_WRITES = 32;

    private static final int BURST = 64;

    /** pplx-garden {@code fabric-lib/efa_domain.rs}: bursts of 32 small writes. */
    private static final int EFA_BURST = 32;

    /** UCCL {@code ep/src/rdma.cpp}: registers pieces of 1 GiB. */
    private static final long IRDMA_CHUNK = 1L << 30;

    /** Writes of a kind that an endpoint has room for at most, where settings allow more on a NIC. */
    private static final int MOST_WRITES = 256;

    /** For kinds of which nothing is known. */
    static final NicProfile ANY = of(NicFamily.OTHER_RDMA);

    /**
     * Where processors copy the bytes, more in flight hides the times in which neither end polls: over shm 4 KiB go four
     * times as fast, 64 KiB 1.2 times ({@code ci/fabric-perftest}).
     */
    static final NicProfile SOFTWARE = new NicProfile(FlowLimits.NONE, 32, 128, BURST, Keys.WHOLE);

    /** By PCI vendor, as libfabric reports it. */
    private static final Map<String, NicFamily> VENDORS = Map.of(
            "0x14e4", NicFamily.BNXT,
            "0x1dd8", NicFamily.IONIC,
            "0x1d0f", NicFamily.EFA,
            "0x8086", NicFamily.IRDMA);

    private static NicProfile of(NicFamily family) {
        return new NicProfile(
                FlowLimits.of(family),
                LARGE_WRITES,
                SMALL_WRITES,
                family == NicFamily.EFA ? EFA_BURST : BURST,
                family == NicFamily.IRDMA ? IRDMA_CHUNK : Keys.WHOLE);
    }

    /** The profile of a NIC by its PCI vendor, or of a provider that copies in software, with the settings. */
    static NicProfile of(FabricInfo info, EpConfig config) {
        NicProfile found = Providers.software(info.provider())
                ? SOFTWARE
                : of(VENDORS.getOrDefault(info.vendor(), NicFamily.OTHER_RDMA));
        int writes = EpKeys.NIC_INFLIGHT_WRITES.get(config);
        return new NicProfile(
                found.limits().with(config),
                room(found.largeWrites(), writes),
                room(found.smallWrites(), Math.max(writes, EpKeys.NIC_INFLIGHT_MESSAGES.get(config))),
                found.burst(),
                found.registrationChunk());
    }

    /** Where a higher limit is set, an only peer may use up to {@link #MOST_WRITES} of it. Writes of high throughput are of any size. */
    private static int room(int usual, int set) {
        return Math.max(usual, Math.min(set, MOST_WRITES));
    }

    /** Slots of a rail: the writes that it has in flight at most, with and without data. */
    int slots() {
        return largeWrites + smallWrites + Rail.RESERVED;
    }
}
