package org.ep4j.tck.posted;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.ep4j.EpPath;
import org.ep4j.config.ConfigKey;
import org.ep4j.gpu.driver.GpuSharing;
import org.ep4j.gpu.driver.GpuSharing.SharedMemory;
import org.ep4j.gpu.driver.MemoryHandle;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SpiVersion;
import org.ep4j.spi.SymmetricBuffer;

/** Paths that kernels of emulated GPUs post to, between ranks that are threads of this JVM: see {@link PostingKernelsBuffer}. */
public final class PostingKernelsProvider implements EpBackendProvider {
    static final String ID = "posting-kernels";

    /** The pairs of GPUs that it connects. */
    static final ConfigKey<String> PAIRS = ConfigKey.text(
                    "ep.posting-kernels.pairs", "", "pairs of GPUs whose kernels post to each other, such as 0-2,1-2")
            .agreedByAllRanks();

    /** The pairs of ranks whose memory it maps. */
    static final ConfigKey<String> MAPPED = ConfigKey.text(
                    "ep.posting-kernels.mapped",
                    "",
                    "pairs of ranks whose kernels store to each other's memory instead")
            .agreedByAllRanks();

    @Override
    public String id() {
        return ID;
    }

    @Override
    public SpiVersion spiVersion() {
        return SpiVersion.CURRENT;
    }

    @Override
    public List<ConfigKey<?>> configKeys() {
        return List.of(PAIRS, MAPPED);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        Check check = request.device().type().equals("cuda")
                ? Check.pass("EP-TEST-003", "threads share all memory of emulated GPUs")
                : Check.notApplicable(
                        "EP-TEST-003", request.device() + " has no kernels that post", "use ep.device=cuda");
        return ProbeReport.builder()
                .check(check)
                .fact("pairs", PAIRS.get(request.config()))
                .fact("gpu", Integer.toString(request.device().ordinal()))
                .build();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return isIn(from.facts(ID).getOrDefault("pairs", ""), gpu(from), gpu(to))
                ? Offer.path(EpPath.Kind.DEVICE_POSTED)
                        .gigabytesPerSecond(1e6)
                        .latencyMicros(0.001)
                        .build()
                : Offer.none("the settings leave the GPUs out", "");
    }

    private static String gpu(RankProfile rank) {
        return rank.facts(ID).getOrDefault("gpu", "");
    }

    static boolean isIn(String pairs, String one, String other) {
        List<String> all = List.of(pairs.split(",", -1));
        return all.contains(one + "-" + other) || all.contains(other + "-" + one);
    }

    @Override
    public EpBackend open(OpenContext context) {
        return new Backend(context);
    }

    private record Backend(OpenContext context) implements EpBackend, AllocatesMemory {
        @Override
        public String id() {
            return ID;
        }

        @Override
        public Set<Purpose> purposes() {
            return Set.of(Purpose.DEVICE_POSTED);
        }

        @Override
        public SymmetricBuffer allocate(String name, long bytes, Purpose purpose, Duration timeout) {
            long used = bytes + PostingKernelsBuffer.behind(context.plan().ranks());
            // NICs of other backends register parts of this size.
            long whole = (used + NicMemory.GRANULE - 1) / NicMemory.GRANULE * NicMemory.GRANULE;
            GpuSharing sharing = GpuSharing.of(context.device(), "cuda");
            SharedMemory own = sharing.allocate(whole, MemoryHandle.Kind.PROCESS);
            Map<Integer, SharedMemory> all = new TreeMap<>(Map.of(context.rank(), own));
            List<byte[]> handles =
                    context.bootstrap().allGather(name, own.handle().encode(), timeout);
            for (int i = 0; i < handles.size(); i++) {
                if (context.ranks().get(i) != context.rank()) {
                    all.put(context.ranks().get(i), sharing.map(MemoryHandle.decode(handles.get(i))));
                }
            }
            context.bootstrap().barrier(name + "-mapped", timeout);
            return new PostingKernelsBuffer(context, name, bytes, all);
        }

        @Override
        public void close() {
            // Buffers are closed on their own.
        }
    }
}
