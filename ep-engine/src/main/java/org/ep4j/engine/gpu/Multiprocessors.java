package org.ep4j.engine.gpu;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.spi.RankProfile;

/**
 * Number of blocks, one on each multiprocessor, that move rows of one buffer.
 *
 * <p>Kernels hold their multiprocessors while they wait for other ranks. If two buffers of a GPU run at once and kernels of one
 * leave no room for those of the other, two ranks that began them in opposite order wait for each other forever. So
 * the buffers of a GPU in this process share its multiprocessors: all that have low latency, which otherwise takes the whole
 * GPU, and the others from their first operation on. If ranks of the group in other processes use the same GPU, this process
 * takes only its part: under the Multi-Process Service, kernels of all of them run at once. Buffers of several groups share the
 * smallest of these parts. Numbers that the user has set, for a buffer or for one call, are not changed, and those of calls do
 * not change the shares of other buffers; numbers that {@code ./ep tune} has measured replace the defaults, but are limited to
 * the buffer's share. The blocks of the kernel that begins a high-throughput operation wait for each other, so all of them need
 * room: if other kernels leave none until the deadline, the operation fails with that reason.
 */
final class Multiprocessors implements AutoCloseable {
    /** Twenty-four are enough to fill the links of a GPU of 132 (Hopper); others in proportion. */
    private static final int SHARE = 24;

    private static final int OF = 132;

    /** {@code CU_STREAM_LEGACY}, which stream 0 is too. */
    private static final long LEGACY_STREAM = 1;

    /** {@code CU_STREAM_PER_THREAD}, another one in every thread, which waits for the legacy stream and it for that. */
    static final long PER_THREAD_STREAM = 2;

    /** Buffers of each GPU of this process, of any group: they share its multiprocessors. */
    private static final Map<Device, Set<Multiprocessors>> OPEN = new HashMap<>();

    private final Device device;
    private final int all;

    /** Number that this process may take beside the other processes of the group. */
    private final int room;

    private final Asked asked;
    private final Asked askedLow;
    private final boolean low;
    private final List<RankProfile> group;
    private final int rank;
    private volatile boolean counts;
    private volatile int highThroughput;
    private volatile int lowLatency;
    private volatile boolean alone;
    private volatile boolean withPeers;

    /**
     * Value of a setting.
     *
     * @param number 0 for the default
     * @param tuned true if {@code ./ep tune} has measured it, with nothing else on the GPU
     */
    private record Asked(int number, boolean tuned) {
        static Asked of(ConfigKey<Integer> key, EpConfig config) {
            return new Asked(key.get(config), key.setting(config).origin() == EpConfig.Origin.TUNED);
        }

        /**
         * Chooses a number of blocks.
         *
         * @param otherwise the default
         * @param most for a measured number, at least 1
         * @param all multiprocessors of the GPU
         */
        int choose(int otherwise, int most, int all) {
            return number == 0 ? otherwise : Math.min(number, tuned ? most : all);
        }
    }

    private Multiprocessors(EpConfig config, EngineGpu gpu, EpShape shape, List<RankProfile> group, int rank) {
        this.device = gpu.id();
        this.all = gpu.info().multiprocessors();
        this.asked = Asked.of(EpKeys.GPU_SMS, config);
        this.askedLow = Asked.of(EpKeys.LOW_LATENCY_SMS, config);
        this.low = shape.maxLowLatencyTokens() > 0;
        this.group = List.copyOf(group);
        this.rank = rank;
        this.room = Math.max(1, all / processes(group, rank));
        this.counts = low;
    }

    /** Adds a new buffer of {@code rank}, until it is closed. */
    static Multiprocessors of(EpConfig config, EngineGpu gpu, EpShape shape, List<RankProfile> group, int rank) {
        Multiprocessors made = new Multiprocessors(config, gpu, shape, group, rank);
        synchronized (OPEN) {
            OPEN.computeIfAbsent(made.device, d -> new LinkedHashSet<>()).add(made);
            share(made.device);
        }
        return made;
    }

    /** Divides the ranks of the group on this GPU by those in this process, rounded up. */
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

    /** Called before every operation. */
    void use() {
        if (!counts) {
            synchronized (OPEN) {
                counts = true;
                share(device);
            }
        }
    }

    private static void share(Device device) {
        Set<Multiprocessors> open = OPEN.getOrDefault(device, Set.of());
        for (Multiprocessors one : open) {
            one.shareWith(open.stream().filter(p -> p.counts || p == one).toList());
            one.withPeers = open.stream().anyMatch(other -> other.rank != one.rank && other.group.equals(one.group));
        }
    }

    /** Takes a share beside buffers that may run at once, this one included. */
    private void shareWith(List<Multiprocessors> together) {
        int buffers = together.size();
        // A buffer of another group may have to leave room for other processes.
        int least = together.stream().mapToInt(one -> one.room).min().orElse(room);
        int part = Math.max(1, least / buffers);
        int few = few(part);
        int withLow = 0;
        int left = least;
        for (Multiprocessors one : together) {
            if (one.low) {
                withLow++;
            } else {
                // A number that the user has set counts as the default one.
                left -= one.asked.tuned() ? one.blocks(part) : few;
            }
        }
        int most = Math.max(1, left / Math.max(1, withLow));
        highThroughput = blocks(part);
        lowLatency = askedLow.choose(most, most, all);
        alone = buffers == 1 && least == all;
    }

    /** The default number of blocks in high throughput, limited to the buffer's part. */
    private int few(int part) {
        return Math.max(1, Math.min((all * SHARE + OF - 1) / OF, part));
    }

    /** The number of blocks in high throughput; a default or measured one is limited to the buffer's part. */
    private int blocks(int part) {
        return asked.choose(few(part), part, all);
    }

    /** Blocks in high throughput, which runs beside the model's own work. */
    int highThroughput() {
        return highThroughput;
    }

    /** Blocks in low latency, which runs alone. */
    int lowLatency() {
        return lowLatency;
    }

    /**
     * Checks the number of one call. The blocks of the kernel that begins a high-throughput operation wait for each other, so more
     * than the GPU has could never end.
     *
     * @throws EpArgumentException when the GPU has fewer
     */
    void require(OptionalInt ofCall) {
        if (ofCall.orElse(1) > all) {
            throw new EpArgumentException(
                    "multiprocessors",
                    ofCall.getAsInt(),
                    "in [1, " + all + "], the multiprocessors of " + device,
                    "pass a lower number, or leave OpOptions.multiprocessors out for the buffer's own");
        }
    }

    /** Returns whether no other buffer of the GPU needs room, so that a kernel may begin while the one before it runs. */
    boolean isAlone() {
        return alone;
    }

    /**
     * Returns whether a stream is a default stream and several ranks of this process use the GPU: work on one default stream waits for work on
     * the others, so kernels of a rank would wait for those of the next rank, which are queued behind them.
     */
    boolean ranksShare(long stream) {
        return withPeers && stream <= PER_THREAD_STREAM;
    }

    /** Refuses to leave work queued on a stream that all ranks share. */
    void requireOwn(long stream) {
        if (!withPeers || stream > LEGACY_STREAM) {
            return;
        }
        throw new EpStateException("stream " + stream + " is shared by all ranks of this process on " + device
                + ", and operations of one rank wait for operations of the others; pass a stream of this rank's own"
                + " with OpOptions.onStream, leave out asynchronous(), or give each rank its own GPU or process");
    }

    @Override
    public void close() {
        synchronized (OPEN) {
            Set<Multiprocessors> open = OPEN.getOrDefault(device, Set.of());
            if (open.remove(this)) {
                share(device);
            }
            if (open.isEmpty()) {
                OPEN.remove(device);
            }
        }
    }
}
