package org.ep4j.gpu.driver;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpDevice;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.GpuKernel;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;

/**
 * Tests every pair of GPUs whose path is PCIe when a backend is opened: whether data arrives before its flag there is a
 * property of the machine. NVLink and xGMI need no such test.
 *
 * @param exposure of memory for the tests, not begun yet
 * @param byPci true for two ranks whose path is PCIe
 * @param rounds data and flags that are sent for each pair
 * @param longest wait for one of the flags
 */
public record PeerOrderingCheck(
        OpenContext context,
        Collective collective,
        GpuExposure exposure,
        BiPredicate<RankProfile, RankProfile> byPci,
        int rounds,
        Duration longest) {
    /** A number that takes a tenth of a second for each pair. */
    public static final int ROUNDS = 10_000;

    /** Longest wait for a flag, which comes within microseconds unless another process has the GPU. */
    public static final Duration WAIT = Duration.ofSeconds(10);

    private record Pair(int first, int second) {}

    /**
     * Tests all pairs, which are the same in the plan of all ranks, and returns their number.
     *
     * @throws EpUnavailableException or another failure, on all ranks, when the order of a pair is broken
     */
    public int run(Deadline deadline) {
        List<Pair> pairs = pairs();
        if (pairs.isEmpty()) {
            return 0;
        }
        List<PeerOrdering> tests = new ArrayList<>(1);
        try {
            exposure.allocate(PeerOrdering.BYTES, deadline);
            exposure.mapPeers(PeerOrdering.BYTES, deadline);
            collective.step("ordering/compile", deadline, () -> {
                tests.add(new PeerOrdering(context.device()));
                return new byte[0];
            });
            for (int number = 0; number < pairs.size(); number++) {
                Pair pair = pairs.get(number);
                int test = number;
                collective.step("ordering/" + pair.first() + "-" + pair.second(), deadline, () -> {
                    check(pair, test, tests.get(0));
                    return new byte[0];
                });
            }
        } finally {
            tests.forEach(PeerOrdering::close);
            exposure.undo();
        }
        return pairs.size();
    }

    private List<Pair> pairs() {
        EpPlan plan = context.plan();
        List<RankProfile> profiles = context.profiles();
        // PCIe ends at the host.
        Map<Integer, List<Integer>> byHost = collective.ranks().stream().collect(Collectors.groupingBy(plan::host));
        List<Pair> pairs = new ArrayList<>();
        for (int first : collective.ranks()) {
            for (int second : byHost.getOrDefault(plan.host(first), List.of())) {
                if (first < second
                        && (maps(first, second) || maps(second, first))
                        && byPci.test(profiles.get(first), profiles.get(second))) {
                    pairs.add(new Pair(first, second));
                }
            }
        }
        return pairs;
    }

    private boolean maps(int from, int to) {
        return collective.connects(from, to) && context.plan().path(from, to).kind() == EpPath.Kind.MAPPED;
    }

    private void check(Pair pair, int number, PeerOrdering test) {
        boolean first = context.rank() == pair.first();
        if (!first && context.rank() != pair.second()) {
            return;
        }
        DeviceMemory own = exposure.memory(context.rank());
        DeviceMemory peer = exposure.memory(first ? pair.second() : pair.first());
        test.check(own, peer, first, number, rounds, longest).ifPresent(wrong -> {
            throw new EpUnavailableException("PCIe from " + collective.label(pair.first()) + " to "
                    + collective.label(pair.second()) + " does not keep the order of writes: " + wrong + "; set "
                    + EpKeys.BACKEND_EXCLUDE.name() + " to " + collective.backend()
                    + ", or turn off relaxed ordering and ACS redirection of the switches between these GPUs");
        });
    }

    /**
     * Tests that data which one GPU writes into the memory of another arrives before the flag after it. NVLink and xGMI
     * guarantee that; PCIe bridges and switches between two GPUs have to be tested. For one thread.
     */
    public static final class PeerOrdering implements AutoCloseable {
        /** Bytes of each GPU's memory that the test uses. */
        public static final long BYTES = 64L << 10;

        private static final String SOURCE = "ordering.cu";
        private static final long DATA = 32L << 10;
        private static final long FLAG = DATA + 4096;
        private static final long RESULT = FLAG + 4096;
        private static final int THREADS = 256;

        private final EngineGpu device;
        private final GpuKernels kernels;
        private final GpuKernel kernel;

        public PeerOrdering(EpDevice device) {
            this(device, source());
        }

        PeerOrdering(EpDevice device, String source) {
            if (!(device instanceof EngineGpu gpu)) {
                throw new EpArgumentException("device", device.id(), "a GPU", "set ep.device to cuda or hip");
            }
            this.device = gpu;
            this.kernels = gpu.compile("ordering", source);
            this.kernel = kernels.kernel("ordering", THREADS, 0);
        }

        /** The kernel, without the dialect. */
        public static String source() {
            return KernelDialect.text(SOURCE, PeerOrdering.class.getResourceAsStream(SOURCE));
        }

        /**
         * Runs this GPU's half of a test, at the same time as the peer's half. Both must have ended before either begins
         * another one.
         *
         * @param own memory of this GPU, {@link #BYTES} long, which the peer writes
         * @param peer memory of the peer, mapped here
         * @param first true on one of the two
         * @param number of the test in the life of the memory, from 0; the same on both
         * @param rounds data and flags that are sent, half of them each way
         * @param limit longest wait for the peer
         * @return what was wrong; empty if all data arrived in time
         */
        public Optional<String> check(
                DeviceMemory own, DeviceMemory peer, boolean first, int number, int rounds, Duration limit) {
            device.upload(ByteBuffer.allocateDirect(24), own.slice(RESULT, 24));
            long[] values = {
                own.address(),
                own.address() + FLAG,
                peer.address(),
                peer.address() + FLAG,
                own.address() + RESULT,
                (long) number << 32,
                rounds,
                DATA / 16,
                limit.toNanos(),
                first ? 1 : 0
            };
            try (GpuStream stream = device.createStream()) {
                kernel.launch(stream, 1, values);
                device.record(stream.handle()).await(limit.multipliedBy(2).plusSeconds(30));
            }
            ByteBuffer result = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder());
            device.download(own.slice(RESULT, 24), result);
            return verdict(result.getLong(0), result.getLong(8), result.getLong(16), first, rounds);
        }

        private static Optional<String> verdict(long wrong, long firstWrong, long done, boolean first, int rounds) {
            long last = (rounds & 1) == (first ? 1 : 0) ? rounds - 1 : rounds;
            if (wrong > 0) {
                return Optional.of("data arrived later than its flag in " + wrong + " of the " + done / 2 * (DATA / 16)
                        + " vectors (16 bytes each) that were checked, first in test round " + firstWrong);
            }
            if (done < last) {
                return Optional.of("the peer's flag of test round " + (done + 2) + " of " + rounds + " never arrived");
            }
            return Optional.empty();
        }

        @Override
        public void close() {
            kernels.close();
        }
    }
}
