package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpStateException;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.cuda.CudaDeviceProvider;
import org.ep4j.engine.driver.GpuExposure;
import org.ep4j.engine.driver.GpuSharing;
import org.ep4j.engine.driver.MemoryHandle;
import org.ep4j.engine.driver.PeerFacts;
import org.ep4j.engine.driver.PeerOrderingCheck;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.Planner;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.RankProfile.BackendProfile;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;

/** What every rank does in {@link MappedMemoryTest}: plan, open the backend, and one case. */
public final class ExposeScenario implements Scenario {
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final int BYTES = 3 * 4096;

    private final IpcNvlinkProvider provider = new IpcNvlinkProvider();

    @Override
    public void run(RankContext context) {
        EpConfig config = context.config(Map.of());
        try (EpDevice device = new CudaDeviceProvider().open(Device.parse(config.get(EpKeys.DEVICE)))) {
            ProbeReport report = provider.probe(new ProbeRequest(device.id(), config, DEADLINE));
            assertThat(report.failures()).isEmpty();
            if (context.params().text("case", "").equals("pci")) {
                pci(context, device, report, config);
                return;
            }
            RankProfile mine = new RankProfile(
                    context.rank(),
                    "h",
                    "h",
                    ProcessHandle.current().pid(),
                    device.id(),
                    Map.of(IpcNvlinkProvider.ID, new BackendProfile(true, "", report.facts(), report.identity())),
                    Map.of());
            List<RankProfile> profiles = context.exchange(mine.encode()).stream()
                    .map(RankProfile::decode)
                    .toList();
            EpPlan plan = Planner.plan(
                    profiles, List.of(new Planner.Candidate(provider.id(), provider::offer)), BackendChoice.AUTO);
            List<Integer> ranks = IntStream.range(0, context.size()).boxed().toList();
            OpenContext open =
                    new OpenContext(plan, context.rank(), ranks, context.newBootstrap(), device, config, DEADLINE);
            try (EpBackend backend = provider.open(open)) {
                switch (context.params().text("case", "")) {
                    case "data" -> data(context, device, backend);
                    case "close" -> close(context, device, backend);
                    case "death" -> death(context, device, backend);
                    case "refusals" -> refusals(context, backend);
                    case "many" -> many(context, device, backend);
                    default -> throw new IllegalArgumentException("no such case: " + context.params());
                }
            }
        }
    }

    private static SymmetricBuffer expose(EpBackend backend, String name) {
        return backend.expose(name, BYTES, Optional.empty(), DEADLINE);
    }

    private static DeviceMemory peer(SymmetricBuffer buffer, int rank) {
        return buffer.as(MappedPeers.class).orElseThrow().peer(rank);
    }

    private static void put(EpDevice device, DeviceMemory memory, long offset, long value) {
        ByteBuffer word = ByteBuffer.allocateDirect(8).putLong(value).flip();
        device.upload(word, memory.slice(offset, 8));
    }

    private static long get(EpDevice device, DeviceMemory memory, long offset) {
        ByteBuffer word = ByteBuffer.allocateDirect(8);
        device.download(memory.slice(offset, 8), word);
        return word.flip().getLong();
    }

    /** Zeros at first; then every rank writes into every memory, and all find it. */
    private static void data(RankContext context, EpDevice device, EpBackend backend) {
        assertThat(backend.allocates()).isTrue();
        try (SymmetricBuffer buffer = expose(backend, "data")) {
            assertThat(peer(buffer, context.rank())).isEqualTo(buffer.local());
            for (int r = 0; r < context.size(); r++) {
                DeviceMemory memory = peer(buffer, r);
                assertThat(memory.byteSize()).isEqualTo(BYTES);
                ByteBuffer all = ByteBuffer.allocateDirect(BYTES);
                device.download(memory, all);
                all.flip();
                while (all.hasRemaining()) {
                    assertThat(all.get()).isZero();
                }
            }
            context.meet();
            for (int r = 0; r < context.size(); r++) {
                put(device, peer(buffer, r), 8L * context.rank(), 1000L * r + context.rank() + 1);
                put(device, peer(buffer, r), BYTES - 8L * (context.rank() + 1), context.rank() + 7);
            }
            context.meet();
            for (int from = 0; from < context.size(); from++) {
                assertThat(get(device, buffer.local(), 8L * from)).isEqualTo(1000L * context.rank() + from + 1);
                assertThat(get(device, buffer.local(), BYTES - 8L * (from + 1))).isEqualTo(from + 7);
            }
            context.meet();
        }
    }

    /** Rank after rank closes, and the memory of those that have not stays what it was. */
    private static void close(RankContext context, EpDevice device, EpBackend backend) {
        SymmetricBuffer buffer = expose(backend, "close");
        put(device, buffer.local(), 0, 100 + context.rank());
        context.meet();
        for (int closing = 0; closing < context.size(); closing++) {
            if (closing == context.rank()) {
                buffer.close();
                buffer.close();
                assertThatThrownBy(buffer::local).isInstanceOf(EpStateException.class);
            }
            context.meet();
            if (closing < context.rank()) {
                for (int r = closing + 1; r < context.size(); r++) {
                    assertThat(get(device, peer(buffer, r), 0)).isEqualTo(100 + r);
                }
                // Mapped for as long as this rank wants, whatever it holds.
                get(device, peer(buffer, closing), 0);
            }
            context.meet();
        }
    }

    /** The last rank dies; the others go on, with its memory still mapped. */
    private static void death(RankContext context, EpDevice device, EpBackend backend) {
        SymmetricBuffer buffer = expose(backend, "death");
        int victim = context.size() - 1;
        put(device, buffer.local(), 0, 100 + context.rank());
        context.meet();
        if (context.isRank(victim)) {
            context.die();
        }
        context.sleep(Duration.ofMillis(500));
        for (int r = 0; r < context.size(); r++) {
            assertThat(get(device, peer(buffer, r), 0)).isEqualTo(100 + r);
            put(device, peer(buffer, r), 8L + 8L * context.rank(), 5);
            assertThat(get(device, peer(buffer, r), 8L + 8L * context.rank())).isEqualTo(5);
        }
        assertThatThrownBy(() -> backend.expose("after", BYTES, Optional.empty(), Duration.ofSeconds(5)))
                .isInstanceOf(EpException.class);
        buffer.close();
        try (var own = device.allocate(4096)) {
            put(device, own.memory(), 0, 3);
            assertThat(get(device, own.memory(), 0)).isEqualTo(3);
        }
    }

    private static void refusals(RankContext context, EpBackend backend) {
        long odd = context.isRank(0) ? BYTES : 2L * BYTES;
        assertThatThrownBy(() -> backend.expose("sizes", odd, Optional.empty(), DEADLINE))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining(BYTES + " bytes on rank 0");
        long wrong = context.isRank(0) ? 100 : BYTES;
        assertThatThrownBy(() -> backend.expose("pages", wrong, Optional.empty(), DEADLINE))
                .isInstanceOf(context.isRank(0) ? EpArgumentException.class : EpException.class)
                .hasMessageContaining("multiple of 4096");
        DeviceMemory foreign = new DeviceMemory(4096, 4096, new Device("cuda", 0));
        assertThatThrownBy(() -> backend.expose("given", BYTES, Optional.of(ExposedMemory.of(foreign)), DEADLINE))
                .hasMessageContaining("allocates by itself");
        long tooMuch = 1L << 50;
        assertThatThrownBy(() -> backend.expose("large", tooMuch, Optional.empty(), DEADLINE))
                .isInstanceOf(org.ep4j.EpResourceException.class)
                .hasMessageContaining("bytes");
        try (SymmetricBuffer fine = expose(backend, "fine")) {
            assertThatThrownBy(() -> peer(fine, context.size())).isInstanceOf(IllegalArgumentException.class);
            context.meet();
        }
        backend.close();
        assertThatThrownBy(() -> expose(backend, "late")).isInstanceOf(EpStateException.class);
        context.meet();
    }

    /** As if PCIe joined all GPUs: the order of writes is tried for every pair. */
    private void pci(RankContext context, EpDevice device, ProbeReport report, EpConfig config) {
        int here = device.id().ordinal();
        Map<String, String> facts = new HashMap<>(report.facts());
        facts.put(PeerFacts.GPUS, facts.getOrDefault(PeerFacts.GPUS, "").replaceAll("(\\d+=|-1=)", ""));
        List<String> gpus = List.of(facts.getOrDefault(PeerFacts.GPUS, "").split(",", -1));
        Map<String, Integer> indexes = new TreeMap<>();
        gpus.forEach(gpu -> indexes.put(gpu, indexes.size()));
        facts.put(PeerFacts.GPUS, PeerFacts.gpus(indexes));
        List<GpuPeer> peers = IntStream.range(0, gpus.size())
                .filter(index -> index != here)
                .mapToObj(index -> new GpuPeer(index, new Distance(PathType.PIX, 24, 2), LinkType.PCI))
                .toList();
        Locality locality = new Locality(here, GpuVendor.NVIDIA, "sm_90", 0, gpus.size(), peers, List.of());
        RankProfile mine = new RankProfile(
                        context.rank(),
                        "h",
                        "h",
                        1,
                        device.id(),
                        Map.of(provider.id(), new BackendProfile(true, "", facts, report.identity())),
                        Map.of())
                .withLocality(locality);
        List<RankProfile> profiles = context.exchange(mine.encode()).stream()
                .map(RankProfile::decode)
                .toList();
        EpPlan plan = Planner.plan(
                profiles, List.of(new Planner.Candidate(provider.id(), provider::offer)), BackendChoice.AUTO);
        List<Integer> ranks = IntStream.range(0, context.size()).boxed().toList();
        int all = context.size() * (context.size() - 1) / 2;
        OpenContext open =
                new OpenContext(plan, context.rank(), ranks, context.newBootstrap(), device, config, DEADLINE);
        Collective collective = new Collective(provider.id(), open);
        GpuSharing sharing = GpuSharing.of(device, "cuda");
        GpuExposure exposure = new GpuExposure(open, collective, sharing, MemoryHandle.Kind.IPC, "of-ordering");
        PeerOrderingCheck check = new PeerOrderingCheck(open, collective, exposure, NvlinkOffer::byPci, 20);
        assertThat(check.run(Deadline.in(DEADLINE))).isEqualTo(all);
    }

    /** Buffers come and go; their memory does not mix. */
    private static void many(RankContext context, EpDevice device, EpBackend backend) {
        for (int round = 0; round < 5; round++) {
            try (SymmetricBuffer a = expose(backend, "a" + round);
                    SymmetricBuffer b = expose(backend, "b" + round)) {
                int next = (context.rank() + 1) % context.size();
                put(device, peer(a, next), 0, 10L * round + context.rank());
                put(device, peer(b, next), 0, -(10L * round + context.rank()) - 1);
                context.meet();
                int previous = (context.rank() + context.size() - 1) % context.size();
                assertThat(get(device, a.local(), 0)).isEqualTo(10L * round + previous);
                assertThat(get(device, b.local(), 0)).isEqualTo(-(10L * round + previous) - 1);
                context.meet();
            }
        }
    }
}
