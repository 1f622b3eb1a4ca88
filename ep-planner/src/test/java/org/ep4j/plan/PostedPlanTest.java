package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a plan says of ranks for which host threads post. */
@Tag("verify")
final class PostedPlanTest {
    private static final String FLOW = "at most 3 at once";

    private static GroupPlan plan(EpPath.Kind kind, String device, PlanOptions options) {
        Locality place = Locality.builder()
                .gpu(0)
                .vendor(GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .gpus(1)
                .processors(16)
                .build();
        List<RankProfile> profiles = List.of(0, 1).stream()
                .map(rank -> RankProfile.builder(rank, "h" + rank, new Device(device, 0))
                        .pid(1)
                        .locality(place)
                        .backends(Map.of("wires", RankProfile.BackendProfile.of(Map.of(), Map.of())))
                        .build())
                .toList();
        Offer offer = Offer.path(kind)
                .gigabytesPerSecond(10)
                .latencyMicros(4)
                .flow(FLOW)
                .build();
        return Planner.plan(profiles, List.of(new Planner.Candidate("wires", (from, to) -> offer)), options);
    }

    private static PlanOptions proxies(int wanted) {
        return new PlanOptions(BackendChoice.AUTO, NicChoice.AUTO, Objective.BALANCED, 0, wanted, true, true);
    }

    @Test
    void threadsPostForGpusWhosePathsTheHostPostsTo() {
        assertThat(plan(EpPath.Kind.HOST_POSTED, "cuda", proxies(0)).proxies(1)).isEqualTo(8);
        assertThat(plan(EpPath.Kind.HOST_POSTED, "cuda", proxies(3)).proxies(1)).isEqualTo(3);
        assertThat(plan(EpPath.Kind.DEVICE_POSTED, "cuda", proxies(3)).proxies(1))
                .isZero();
        assertThat(plan(EpPath.Kind.HOST_POSTED, "host", proxies(3)).proxies(1)).isZero();
    }

    @Test
    void aPathHasTheFlowControlThatItsBackendDescribed() {
        GroupPlan plan = plan(EpPath.Kind.HOST_POSTED, "cuda", proxies(0));
        assertThat(plan.offer(0, 1).flow()).isEqualTo(FLOW);
    }
}
