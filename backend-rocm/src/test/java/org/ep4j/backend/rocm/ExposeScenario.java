package org.ep4j.backend.rocm;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpDevice;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.driver.GpuExposure;
import org.ep4j.engine.driver.GpuSharing;
import org.ep4j.engine.driver.MemoryHandle;
import org.ep4j.engine.driver.PeerOrderingCheck;
import org.ep4j.engine.hip.HipDeviceProvider;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.Planner;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.RankProfile.BackendProfile;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** What every rank does in {@link MappedMemoryTest}: plan, open the backend, and write into every memory. */
public final class ExposeScenario implements Scenario {
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final int BYTES = 3 * 4096;

    private final RocmProvider provider = new RocmProvider();

    @Override
    public void run(RankContext context) {
        EpConfig config = context.config(Map.of());
        boolean pci = context.params().text("way", "").equals("pci");
        try (EpDevice device = new HipDeviceProvider().open(Device.parse(config.get(EpKeys.DEVICE)))) {
            ProbeReport report = provider.probe(new ProbeRequest(device.id(), config, DEADLINE));
            assertThat(report.failures()).isEmpty();
            Map<String, String> facts = new TreeMap<>(report.facts());
            if (pci) {
                // As if PCIe joined all GPUs.
                String others = facts.getOrDefault(RocmFacts.XGMI, "").replaceAll("/\\d+", "");
                facts.put(RocmFacts.PCI, others);
                facts.put(RocmFacts.XGMI, "");
            }
            RankProfile mine = new RankProfile(
                    context.rank(),
                    "h",
                    "h",
                    ProcessHandle.current().pid(),
                    device.id(),
                    Map.of(RocmProvider.ID, new BackendProfile(true, "", facts, report.identity())),
                    Map.of());
            List<RankProfile> profiles = context.exchange(mine.encode()).stream()
                    .map(RankProfile::decode)
                    .toList();
            EpPlan plan = Planner.plan(
                    profiles, List.of(new Planner.Candidate(provider.id(), provider::offer)), BackendChoice.AUTO);
            List<Integer> ranks = IntStream.range(0, context.size()).boxed().toList();
            OpenContext open =
                    new OpenContext(plan, context.rank(), ranks, context.newBootstrap(), device, config, DEADLINE);
            if (pci) {
                order(open, context);
                return;
            }
            try (EpBackend backend = provider.open(open)) {
                data(context, device, backend);
            }
        }
    }

    /** The order of writes is tried for every pair of GPUs; a GPU and itself need no PCIe. */
    private static void order(OpenContext open, RankContext context) {
        Collective collective = new Collective(RocmProvider.ID, open);
        GpuExposure exposure = new GpuExposure(
                open, collective, GpuSharing.of(open.device(), RocmOffer.DEVICE), MemoryHandle.Kind.IPC, "of-ordering");
        boolean shared = RocmOffer.path(
                        open.plan().profiles().get(0), open.plan().profiles().get(1))
                .orElseThrow()
                .gpuLinks();
        int expected = shared ? 0 : context.size() * (context.size() - 1) / 2;
        PeerOrderingCheck check = new PeerOrderingCheck(open, collective, exposure, RocmOffer::byPci, 20);
        assertThat(check.run(Deadline.in(DEADLINE))).isEqualTo(expected);
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

    /** Zeros at first; then every rank writes into every memory, and all find it; then they close one after another. */
    private static void data(RankContext context, EpDevice device, EpBackend backend) {
        SymmetricBuffer buffer = backend.expose("data", BYTES, Optional.empty(), DEADLINE);
        assertThat(peer(buffer, context.rank())).isEqualTo(buffer.local());
        for (int r = 0; r < context.size(); r++) {
            ByteBuffer all = ByteBuffer.allocateDirect(BYTES);
            device.download(peer(buffer, r), all);
            all.flip();
            while (all.hasRemaining()) {
                assertThat(all.get()).isZero();
            }
        }
        context.meet();
        for (int r = 0; r < context.size(); r++) {
            put(device, peer(buffer, r), 8L * context.rank(), 1000L * r + context.rank() + 1);
        }
        context.meet();
        for (int from = 0; from < context.size(); from++) {
            assertThat(get(device, buffer.local(), 8L * from)).isEqualTo(1000L * context.rank() + from + 1);
        }
        for (int closing = 0; closing < context.size(); closing++) {
            context.meet();
            if (closing == context.rank()) {
                buffer.close();
            } else if (closing < context.rank()) {
                // The others' memory stays what it was.
                assertThat(get(device, peer(buffer, context.size() - 1), 8))
                        .isEqualTo(1000L * (context.size() - 1) + 2);
            }
        }
        context.meet();
    }
}
