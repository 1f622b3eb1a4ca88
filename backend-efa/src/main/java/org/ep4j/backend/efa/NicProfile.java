package org.ep4j.backend.efa;

import java.util.List;
import org.ep4j.config.EpConfig;

/**
 * What a kind of NIC takes, and what settings say instead.
 *
 * @param inflightBytes bytes of this rank that may be under way on it, to all peers; 0 for no limit
 * @param largeWrites writes of {@link RailFlow#LARGE} bytes or more to one peer that may be under way on it
 * @param smallWrites the same of smaller writes
 * @param burst writes that may be posted before completions are looked at
 * @param registrationChunk bytes of memory that are registered at once
 */
record NicProfile(long inflightBytes, int largeWrites, int smallWrites, int burst, long registrationChunk) {
    /** 8 and 32 writes: the defaults of UCCL ({@code ep/include/common.hpp}, kMaxInflightNormal and LowLatency). */
    static final NicProfile ANY = new NicProfile(0, 8, 32, 64, Keys.WHOLE);

    /**
     * Where processors copy the bytes, more under way hides the times in which neither end looks: over shm 4 KiB go four
     * times as fast, 64 KiB 1.2 times ({@code ci/fabric-perftest}).
     */
    static final NicProfile SOFTWARE = new NicProfile(0, 32, 128, 64, Keys.WHOLE);

    private static final long IRDMA_CHUNK = 1L << 30;

    private static final List<Known> KNOWN = List.of(
            new Known("0x14e4", "Broadcom Thor-2", "UCCL ep/README.md", new NicProfile(1572864, 1, 32, 64, Keys.WHOLE)),
            new Known("0x1dd8", "AMD Pollara", "UCCL ep/README.md", new NicProfile(2097152, 1, 32, 64, Keys.WHOLE)),
            new Known(
                    "0x1d0f",
                    "AWS EFA",
                    "pplx-garden fabric-lib efa_domain.rs: bursts of 32 small writes",
                    new NicProfile(0, 8, 32, 32, Keys.WHOLE)),
            new Known(
                    "0x8086",
                    "Intel irdma",
                    "UCCL ep/src/rdma.cpp: registers pieces of 1 GiB",
                    new NicProfile(0, 8, 32, 64, IRDMA_CHUNK)));

    /**
     * What is known of a kind.
     *
     * @param vendor PCI id
     * @param name for people
     * @param source where the figures are from
     * @param profile the figures
     */
    record Known(String vendor, String name, String source, NicProfile profile) {}

    /** All that are known. */
    static List<Known> known() {
        return KNOWN;
    }

    /** Of a NIC whose PCI vendor is told, or that does not do the work itself, with the settings. */
    static NicProfile of(FabricInfo info, EpConfig config) {
        NicProfile found = Providers.software(info.provider())
                ? SOFTWARE
                : KNOWN.stream()
                        .filter(known -> known.vendor().equals(info.vendor()))
                        .map(Known::profile)
                        .findFirst()
                        .orElse(ANY);
        long bytes = config.get(EfaKeys.INFLIGHT_BYTES);
        int large = config.get(EfaKeys.INFLIGHT_WRITES);
        int small = config.get(EfaKeys.INFLIGHT_MESSAGES);
        return new NicProfile(
                bytes > 0 ? bytes : found.inflightBytes(),
                large > 0 ? large : found.largeWrites(),
                small > 0 ? small : found.smallWrites(),
                found.burst(),
                found.registrationChunk());
    }

    int slots() {
        return RailFlow.slots(largeWrites, smallWrites);
    }

    RailFlow flow(NicFlow nic) {
        return new RailFlow(nic, largeWrites, smallWrites, burst);
    }
}
