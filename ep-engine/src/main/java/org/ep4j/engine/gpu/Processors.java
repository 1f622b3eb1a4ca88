package org.ep4j.engine.gpu;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.spi.RankProfile;

/**
 * How many blocks, one on each multiprocessor, move rows of one buffer.
 *
 * <p>Kernels hold their multiprocessors while they wait for other ranks. When two buffers of a GPU run at once and one's
 * kernels leave no room for the other's, two ranks that began them in opposite order wait for each other for ever. So
 * the buffers of a GPU in this process share its multiprocessors: all that have low latency, which otherwise takes the whole
 * GPU, and the others from their first operation on. Where ranks of the group in other processes have the same GPU, this process
 * takes its part alone: under the Multi-Process Service, kernels of all of them run at once. Numbers that the user set are taken
 * as they are. The blocks of the kernel that begins
 * a high-throughput operation wait for each other, so all of them must find room: where other kernels leave none until the deadline, it
 * fails and says so.
 */
final class Processors implements AutoCloseable {
    /** Twenty-four are enough to fill the links of a GPU of 132 (Hopper); others in proportion. */
    private static final int SHARE = 24;

    private static final int OF = 132;

    /** {@code CU_STREAM_LEGACY}, which stream 0 is too. */
    private static final long LEGACY_STREAM = 1;

    /** {@code CU_STREAM_PER_THREAD}, another one in every thread, which waits for the legacy stream and it for that. */
    static final long PER_THREAD_STREAM = 2;

    /** Buffers of each GPU of this process, whatever group they belong to: that is what shares its multiprocessors. */
    private static final Map<Device, Set<Processors>> OPEN = new HashMap<>();

    private final Device device;
    private final int all;

    /** What this process may take of them. */
    private final int room;

    private final int asked;
    private final int askedLow;
    private final boolean low;
    private final List<RankProfile> group;
    private final int rank;
    private volatile boolean counts;
    private volatile int highThroughput;
    private volatile int lowLatency;
    private volatile boolean alone;
    private volatile boolean withPeers;

    private Processors(
            Device device, int all, int asked, int askedLow, boolean low, List<RankProfile> group, int rank) {
        this.device = device;
        this.all = all;
        this.asked = asked;
        this.askedLow = askedLow;
        this.low = low;
        this.group = List.copyOf(group);
        this.rank = rank;
        this.room = Math.max(1, all / processes(group, rank));
        this.counts = low;
    }

    /**
     * Of a new buffer; until it is closed.
     *
     * @param group what its ranks reported
     * @param rank of the buffer
     */
    static Processors of(EpConfig config, EngineGpu device, EpShape shape, List<RankProfile> group, int rank) {
        Processors made = new Processors(
                device.id(),
                device.info().multiprocessors(),
                EpKeys.GPU_SMS.get(config),
                EpKeys.LOW_LATENCY_SMS.get(config),
                shape.maxLowLatencyTokens() > 0,
                group,
                rank);
        synchronized (OPEN) {
            OPEN.computeIfAbsent(made.device, d -> new LinkedHashSet<>()).add(made);
            share(made.device);
        }
        return made;
    }

    /** How many times the ranks that this process has on the GPU fit into all ranks of the group that have it, rounded up. */
    private static int processes(List<RankProfile> group, int rank) {
        RankProfile own = group.get(rank);
        int gpu = own.locality().gpu();
        if (gpu < 0) {
            return 1;
        }
        int here = 0;
        int everywhere = 0;
        for (RankProfile other : group) {
            if (other.locality().gpu() == gpu && other.hostId().equals(own.hostId())) {
                everywhere++;
                here += other.pid() == own.pid() ? 1 : 0;
            }
        }
        return (everywhere + here - 1) / here;
    }

    /** Before every operation. */
    void use() {
        if (!counts) {
            synchronized (OPEN) {
                counts = true;
                share(device);
            }
        }
    }

    private static void share(Device device) {
        Set<Processors> open = OPEN.getOrDefault(device, Set.of());
        int counted = (int) open.stream().filter(p -> p.counts).count();
        int low = (int) open.stream().filter(p -> p.low).count();
        for (Processors one : open) {
            one.share(one.counts ? counted : counted + 1, low);
            one.withPeers = open.stream().anyMatch(other -> other.rank != one.rank && other.group.equals(one.group));
        }
    }

    /**
     * Takes a share.
     *
     * @param buffers that may run at once, this one included
     * @param withLow how many of them have low latency
     */
    private void share(int buffers, int withLow) {
        int few = Math.max(1, Math.min((all * SHARE + OF - 1) / OF, room / buffers));
        int most = Math.max(1, (room - (buffers - withLow) * few) / Math.max(1, withLow));
        highThroughput = asked == 0 ? few : Math.min(asked, all);
        lowLatency = askedLow == 0 ? most : Math.min(askedLow, all);
        alone = buffers == 1 && room == all;
    }

    /** In high throughput, which runs beside the model's own work. */
    int highThroughput() {
        return highThroughput;
    }

    /** In low latency, which is all that runs of this buffer. */
    int lowLatency() {
        return lowLatency;
    }

    /** True when no other buffer of the GPU needs room, so that a kernel may take its place while the one before it runs. */
    boolean isAlone() {
        return alone;
    }

    /**
     * True for a default stream when several ranks of this process have the GPU: what is on one of these waits for the others, or for
     * copies that wait for them, and so the kernels of a rank for those of the next, which are queued behind them.
     */
    boolean ranksShare(long stream) {
        return withPeers && stream <= PER_THREAD_STREAM;
    }

    /** True where nothing can be left queued: one stream for all ranks. */
    boolean refuses(long stream) {
        return withPeers && stream <= LEGACY_STREAM;
    }

    /** Why nothing can be queued on such a stream and left there. */
    EpStateException refusal(long stream) {
        return new EpStateException("stream " + stream + " is shared by all ranks of this process on " + device
                + ", and operations of one rank wait for operations of the others; pass a stream of this rank's own with"
                + " OpOptions.onStream, leave out asynchronous(), or give each rank its own GPU or process");
    }

    @Override
    public void close() {
        synchronized (OPEN) {
            Set<Processors> open = OPEN.getOrDefault(device, Set.of());
            if (open.remove(this)) {
                share(device);
            }
            if (open.isEmpty()) {
                OPEN.remove(device);
            }
        }
    }
}
