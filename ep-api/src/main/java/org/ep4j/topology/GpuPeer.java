package org.ep4j.topology;

import java.util.List;

/** Another GPU of the machine, as one GPU reaches it. Immutable. */
public sealed interface GpuPeer {
    /**
     * Returns a direct way to an undivided GPU.
     *
     * @param gpu index of the other GPU on the host
     * @param distance to the other GPU
     * @param link {@link LinkType#NVLINK} or {@link LinkType#XGMI} where they are joined by GPU links, else {@link LinkType#PCI}
     */
    static GpuPeer of(int gpu, Distance distance, LinkType link) {
        return new GpuPeerValue(gpu, gpu, distance, link, List.of());
    }

    /** Returns a copy for a partition of the GPU whose first partition has the index {@code first}. */
    default GpuPeer partOf(int first) {
        return new GpuPeerValue(gpu(), first, distance(), link(), via());
    }

    /** Returns a copy that is reached through one of these GPUs, given by index. */
    default GpuPeer through(List<Integer> gpus) {
        return new GpuPeerValue(gpu(), card(), distance(), link(), List.copyOf(gpus));
    }

    /** Index of the other GPU on the host. */
    int gpu();

    /** Index of the first partition of the GPU that it is a partition of; its own where GPUs are not divided. */
    int card();

    /** Distance to the other GPU. */
    Distance distance();

    /** {@link LinkType#NVLINK} or {@link LinkType#XGMI} where they are joined by GPU links, else {@link LinkType#PCI}. */
    LinkType link();

    /** GPUs that are neighbours of both where the way is {@link PathType#NVB}, by index; those with the widest links. */
    List<Integer> via();
}

record GpuPeerValue(int gpu, int card, Distance distance, LinkType link, List<Integer> via) implements GpuPeer {
    @Override
    public String toString() {
        return "GPU " + gpu + (card == gpu ? "" : " of card " + card) + " by " + link + ", " + distance
                + (via.isEmpty() ? "" : " through one of " + via);
    }
}
