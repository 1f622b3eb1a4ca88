package org.ep4j.backend.efa;

import java.util.Map;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.topology.NicFamily;

/**
 * What a kind of NIC takes, and what settings say instead.
 *
 * @param inflightBytes bytes of this rank that may be under way on it, to all peers; 0 for no limit
 * @param largeWrites writes of this rank of {@link FlowLimits#LARGE} bytes or more that may be under way on it, to all peers
 * @param smallWrites the same of smaller writes
 * @param burst writes that may be posted before completions are looked at
 * @param registrationChunk bytes of memory that are registered at once
 */
record NicProfile(long inflightBytes, int largeWrites, int smallWrites, int burst, long registrationChunk) {
    private static final int BURST = 64;

    /** pplx-garden {@code fabric-lib/efa_domain.rs}: bursts of 32 small writes. */
    private static final int EFA_BURST = 32;

    /** UCCL {@code ep/src/rdma.cpp}: registers pieces of 1 GiB. */
    private static final long IRDMA_CHUNK = 1L << 30;

    /** For kinds of which nothing is known. */
    static final NicProfile ANY = of(NicFamily.OTHER_RDMA);

    /**
     * Where processors copy the bytes, more under way hides the times in which neither end looks: over shm 4 KiB go four
     * times as fast, 64 KiB 1.2 times ({@code ci/fabric-perftest}).
     */
    static final NicProfile SOFTWARE = new NicProfile(0, 32, 128, BURST, Keys.WHOLE);

    /** By PCI vendor, as libfabric tells it. */
    private static final Map<String, NicFamily> VENDORS = Map.of(
            "0x14e4", NicFamily.BNXT,
            "0x1dd8", NicFamily.IONIC,
            "0x1d0f", NicFamily.EFA,
            "0x8086", NicFamily.IRDMA);

    private static NicProfile of(NicFamily family) {
        FlowLimits limits = FlowLimits.of(family);
        return new NicProfile(
                limits.bytes(),
                limits.largeWrites(),
                limits.smallWrites(),
                family == NicFamily.EFA ? EFA_BURST : BURST,
                family == NicFamily.IRDMA ? IRDMA_CHUNK : Keys.WHOLE);
    }

    private NicProfile with(EpConfig config) {
        FlowLimits limits = new FlowLimits("", inflightBytes, largeWrites, smallWrites)
                .with(
                        config.get(EfaKeys.INFLIGHT_BYTES),
                        config.get(EfaKeys.INFLIGHT_WRITES),
                        config.get(EfaKeys.INFLIGHT_MESSAGES));
        return new NicProfile(limits.bytes(), limits.largeWrites(), limits.smallWrites(), burst, registrationChunk);
    }

    /** The limits that hold with the settings on a kind of NIC, for people. */
    static String told(NicFamily family, EpConfig config) {
        return of(family).with(config).limits(FlowLimits.of(family).nic()).text();
    }

    /** The limits that hold with the settings where processors copy the bytes, for people. */
    static String toldOfSoftware(String provider, EpConfig config) {
        return SOFTWARE.with(config).limits(provider).text();
    }

    /** The limits that hold with the settings on a NIC, for people. */
    static String told(FabricInfo info, EpConfig config) {
        return Providers.software(info.provider())
                ? toldOfSoftware(Providers.sockets(info.provider()) ? "sockets" : info.provider(), config)
                : told(VENDORS.getOrDefault(info.vendor(), NicFamily.OTHER_RDMA), config);
    }

    /** Of a NIC whose PCI vendor is told, or that does not do the work itself, with the settings. */
    static NicProfile of(FabricInfo info, EpConfig config) {
        NicProfile found = Providers.software(info.provider())
                ? SOFTWARE
                : of(VENDORS.getOrDefault(info.vendor(), NicFamily.OTHER_RDMA));
        return found.with(config);
    }

    FlowLimits limits(String nic) {
        return new FlowLimits(nic, inflightBytes, largeWrites, smallWrites);
    }

    int slots() {
        return RailFlow.slots(largeWrites, smallWrites);
    }

    RailFlow flow(NicFlow nic) {
        return new RailFlow(nic, slots(), burst);
    }
}
