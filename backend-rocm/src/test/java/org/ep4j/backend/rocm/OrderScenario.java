package org.ep4j.backend.rocm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import org.ep4j.gpu.driver.GpuExposure;
import org.ep4j.gpu.driver.GpuSharing;
import org.ep4j.gpu.driver.MemoryHandle;
import org.ep4j.gpu.driver.PeerOrderingCheck;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.tck.mapped.MappedRank;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;

/** As if PCIe joined all GPUs: the order of writes is tried for every pair of them; a GPU and itself need no PCIe. */
public final class OrderScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        try (MappedRank rank = MappedRank.of(context, RocmProvider.ID, OrderScenario::overPci)) {
            OpenContext open = rank.open();
            Collective collective = new Collective(RocmProvider.ID, open);
            GpuSharing sharing = GpuSharing.of(open.device(), "hip");
            GpuExposure exposure = new GpuExposure(open, collective, sharing, MemoryHandle.Kind.IPC, "of-ordering");
            RocmProvider provider = new RocmProvider();
            boolean shared = provider.path(
                            open.profiles().get(0), open.profiles().get(1))
                    .orElseThrow()
                    .gpuLinks();
            PeerOrderingCheck check =
                    new PeerOrderingCheck(open, collective, exposure, provider::byPci, 20, Guard.minute());
            assertThat(check.run(Deadline.in(Guard.minutes(2))))
                    .isEqualTo(shared ? 0 : context.size() * (context.size() - 1) / 2);
        }
    }

    private static RankProfile overPci(RankProfile mine) {
        Map<String, String> facts = new TreeMap<>(mine.facts(RocmProvider.ID));
        facts.put(RocmFacts.PCI, facts.getOrDefault(RocmFacts.XGMI, "").replaceAll("/\\d+", ""));
        facts.put(RocmFacts.XGMI, "");
        return mine.toBuilder()
                .backends(Map.of(RocmProvider.ID, BackendProfile.of(facts, mine.identity(RocmProvider.ID))))
                .build();
    }
}
