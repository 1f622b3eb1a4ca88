package org.ep4j.backend.rocm;

import java.util.Optional;
import org.ep4j.gpu.driver.PeerFacts;
import org.ep4j.spi.RankProfile;

/** Facts that a rank sends to the others about its GPU, beside those of {@link PeerFacts}. */
final class RocmFacts {
    /** GPUs that xGMI joins to the rank's GPU, with the hops, as HIP reports them: {@code 0000:0c:00.0/1,...}. */
    static final String XGMI = "xgmi";

    /** The other GPUs, which PCIe joins. */
    static final String PCI = "pci";

    /** The facts of all ranks. */
    static final PeerFacts ALL = new PeerFacts(RocmProvider.ID);

    private RocmFacts() {}

    /** Returns the hops over xGMI from a rank's GPU to another, as HIP reports them; empty if it reports none. */
    static Optional<Integer> hops(RankProfile rank, String gpu) {
        for (String entry : ALL.fact(rank, XGMI).split(",", -1)) {
            if (entry.startsWith(gpu + "/") && entry.substring(gpu.length() + 1).matches("[1-9]\\d{0,3}")) {
                return Optional.of(Integer.parseInt(entry.substring(gpu.length() + 1)));
            }
        }
        return Optional.empty();
    }
}
