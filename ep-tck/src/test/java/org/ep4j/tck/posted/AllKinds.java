package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpPath;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.threads.ThreadsBackendProvider;
import org.ep4j.tck.ranks.GroupFactory;

/** Joins groups in which rank 0 maps some peers, posts to others from kernels, and to others from host threads. */
public final class AllKinds implements GroupFactory {
    /**
     * Returns the settings of such groups, on emulated GPUs on simulated hosts of two ranks.
     *
     * @param pairs of ranks whose kernels post to each other; host threads post between the other ranks of different hosts
     */
    static Map<String, String> settings(String pairs) {
        return Map.of(
                EpKeys.DEVICE.name(),
                "cuda",
                EpKeys.HOST_RANKS.name(),
                "2",
                EpKeys.BACKEND_REQUIRE.name(),
                String.join(",", ThreadsBackendProvider.ID, PostingKernelsProvider.ID, PostedThreadsProvider.ID),
                EpKeys.BACKEND_PREFER.name(),
                ThreadsBackendProvider.ID + "," + PostingKernelsProvider.ID,
                PostingKernelsProvider.PAIRS.name(),
                pairs,
                PostedThreadsProvider.REGISTERS.name(),
                "dma-buf");
    }

    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        EpGroup group = EpGroup.join(bootstrap, config);
        assertThat(IntStream.range(0, group.size())
                        .mapToObj(peer -> group.plan().path(0, peer).kind()))
                .as("paths of rank 0")
                .contains(EpPath.Kind.MAPPED, EpPath.Kind.DEVICE_POSTED, EpPath.Kind.HOST_POSTED);
        return group;
    }
}
