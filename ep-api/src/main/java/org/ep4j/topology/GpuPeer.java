package org.ep4j.topology;

import java.util.List;
import java.util.Objects;
import org.apiguardian.api.API;

/** How one GPU reaches another GPU of its machine. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class GpuPeer {
    private final int gpu;
    private final int card;
    private final Distance distance;
    private final LinkType link;
    private final List<Integer> via;

    private GpuPeer(int gpu, int card, Distance distance, LinkType link, List<Integer> via) {
        this.gpu = gpu;
        this.card = card;
        this.distance = distance;
        this.link = link;
        this.via = List.copyOf(via);
    }

    /**
     * A direct way to an undivided GPU.
     *
     * @param gpu index of the other GPU on the host
     * @param distance how near the other GPU is
     * @param link {@link LinkType#NVLINK} or {@link LinkType#XGMI} where they are joined by GPU links, else {@link LinkType#PCI}
     */
    public static GpuPeer of(int gpu, Distance distance, LinkType link) {
        return new GpuPeer(gpu, gpu, distance, link, List.of());
    }

    /** Returns a copy for a partition of the GPU whose first partition has the index {@code first}. */
    public GpuPeer partOf(int first) {
        return new GpuPeer(gpu, first, distance, link, via);
    }

    /** Returns a copy that is reached through one of these GPUs, given by index. */
    public GpuPeer through(List<Integer> gpus) {
        return new GpuPeer(gpu, card, distance, link, gpus);
    }

    /** Index of the other GPU on the host. */
    public int gpu() {
        return gpu;
    }

    /** Index of the first partition of the GPU that it is a partition of; its own where GPUs are not divided. */
    public int card() {
        return card;
    }

    /** How near the other GPU is. */
    public Distance distance() {
        return distance;
    }

    /** {@link LinkType#NVLINK} or {@link LinkType#XGMI} where they are joined by GPU links, else {@link LinkType#PCI}. */
    public LinkType link() {
        return link;
    }

    /** GPUs that are neighbours of both where the way is {@link PathType#NVB}, by index; those with the widest links. */
    public List<Integer> via() {
        return via;
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || (other instanceof GpuPeer that
                        && gpu == that.gpu
                        && card == that.card
                        && distance.equals(that.distance)
                        && link == that.link
                        && via.equals(that.via));
    }

    @Override
    public int hashCode() {
        return Objects.hash(gpu, card, distance, link, via);
    }

    /** All properties, for people. */
    @Override
    public String toString() {
        return "GPU " + gpu + (card == gpu ? "" : " of card " + card) + " by " + link + ", " + distance
                + (via.isEmpty() ? "" : " through one of " + via);
    }
}
