package org.ep4j.backend.nvshmem;

import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.RankProfile;

/**
 * How many processes have each GPU. NVSHMEM makes a team of those that share one, and of their first ones, reckoning with one
 * number for all (team.cpp: "All GPUs must have same number of processes"); a process that has its GPU alone takes no part in
 * collective calls of those that share one (init.cu, nvshmemi_is_mpg_run). Where numbers differ, initialisation does not end: so
 * it was with 3 and with 7 processes on 2 GPUs and NVSHMEM 3.4.5.
 */
final class ProcessesPerGpu {
    private ProcessesPerGpu() {}

    /**
     * Refuses numbers that differ; does nothing where a rank's GPU is not known.
     *
     * @param ranks all PEs
     * @throws EpUnavailableException naming who has which GPU
     */
    static void check(List<RankProfile> ranks) {
        boolean known = ranks.stream()
                .allMatch(rank -> rank.identity(NvshmemProvider.ID).containsKey(NvshmemFacts.GPU));
        if (!known) {
            return;
        }
        Map<String, List<RankProfile>> owners = ranks.stream()
                .collect(Collectors.groupingBy(
                        rank -> rank.identity(NvshmemProvider.ID).get(NvshmemFacts.GPU),
                        TreeMap::new,
                        Collectors.toList()));
        Comparator<List<RankProfile>> bySize = Comparator.comparingInt(List::size);
        List<RankProfile> most = Collections.max(owners.values(), bySize);
        List<RankProfile> fewest = Collections.min(owners.values(), bySize);
        if (most.size() != fewest.size()) {
            throw new EpUnavailableException(NvshmemProbe.PROCESS + ": " + ranks.size() + " processes on "
                    + owners.size()
                    + " GPUs: one GPU has " + most.size() + " of them (" + labels(most) + "), but another GPU has "
                    + fewest.size() + " ("
                    + labels(fewest)
                    + "), and NVSHMEM's initialisation hangs unless all GPUs have the same number of processes;"
                    + " start one process for each GPU, or the same number for every GPU");
        }
    }

    private static String labels(List<RankProfile> ranks) {
        return ranks.stream().map(RankProfile::label).collect(Collectors.joining(", "));
    }
}
