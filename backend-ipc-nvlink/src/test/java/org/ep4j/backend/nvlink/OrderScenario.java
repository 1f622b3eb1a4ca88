package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.gpu.driver.GpuExposure;
import org.ep4j.gpu.driver.GpuSharing;
import org.ep4j.gpu.driver.MemoryHandle;
import org.ep4j.gpu.driver.PeerFacts;
import org.ep4j.gpu.driver.PeerOrderingCheck;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.tck.mapped.MappedRank;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;

/** As if PCIe joined all GPUs: the order of writes is tried for every pair. */
public final class OrderScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        try (MappedRank rank = MappedRank.of(context, IpcNvlinkProvider.ID, OrderScenario::overPci)) {
            OpenContext open = rank.open();
            Collective collective = new Collective(IpcNvlinkProvider.ID, open);
            GpuSharing sharing = GpuSharing.of(open.device(), "cuda");
            GpuExposure exposure = new GpuExposure(open, collective, sharing, MemoryHandle.Kind.IPC, "of-ordering");
            PeerOrderingCheck check = new PeerOrderingCheck(
                    open, collective, exposure, new IpcNvlinkProvider()::byPci, 20, Guard.minute());
            assertThat(check.run(Deadline.in(Guard.minutes(2)))).isEqualTo(context.size() * (context.size() - 1) / 2);
        }
    }

    private static RankProfile overPci(RankProfile mine) {
        Map<String, String> facts = new TreeMap<>(mine.facts(IpcNvlinkProvider.ID));
        List<String> gpus = List.of(facts.getOrDefault(PeerFacts.GPUS, "")
                .replaceAll("(\\d+=|-1=)", "")
                .split(",", -1));
        Map<String, Integer> indexes = new TreeMap<>();
        gpus.forEach(gpu -> indexes.put(gpu, indexes.size()));
        facts.put(PeerFacts.GPUS, PeerFacts.gpus(indexes));
        int here = mine.device().ordinal();
        List<GpuPeer> peers = IntStream.range(0, gpus.size())
                .filter(index -> index != here)
                .mapToObj(index -> GpuPeer.of(index, new Distance(PathType.PIX, 24, 2), LinkType.PCI))
                .toList();
        return mine.toBuilder()
                .backends(Map.of(IpcNvlinkProvider.ID, BackendProfile.of(facts, mine.identity(IpcNvlinkProvider.ID))))
                .locality(Locality.builder()
                        .gpu(here)
                        .vendor(GpuVendor.NVIDIA)
                        .architecture("sm_90")
                        .numa(0)
                        .gpus(gpus.size())
                        .peers(peers)
                        .build())
                .build();
    }
}
