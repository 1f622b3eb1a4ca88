package org.ep4j.backend.rocm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.tck.ranks.Job;
import org.ep4j.tck.ranks.ProcessRankPool;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.RankPool;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Exchanges of both modes whose counters and flags are stored without a release; on emulated GPUs one rule of each mode. */
@Tag("all")
final class RelaxedStoresTest extends EpBackendTck {
    private static final boolean EMULATED = System.getenv("EP_TEST_EMULATED") != null;
    private static final Map<String, String> RELAXED = Map.of(EpKeys.GPU_PUBLISH.name(), "relaxed");

    @Override
    protected TckSubject subject() {
        return TckSubject.of(RocmProvider.ID, "hip").with(RELAXED);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> EMULATED
                        ? Set.of("3.1", "4.1").contains(rule.id())
                        : rule.chapter() == 3 || rule.chapter() == 4)
                .toList();
    }

    /** Several GPUs that PCIe alone joins, with ranks that share one of them. */
    @Test
    void fineGrainedMemoryIsRefusedOnEveryRank() {
        List<String> missing = subject().unavailable();
        assertThat(EMULATED && "1".equals(System.getenv("EP_REQUIRE_EMULATOR")) ? missing : List.of())
                .isEmpty();
        assumeThat(EMULATED && missing.isEmpty())
                .as("needs emulated GPUs, whose links it chooses: %s", missing)
                .isTrue();
        try (RankPool pool = new ProcessRankPool(2, "256m", Map.of("HIP_ON_CUDA_LINKS", "pcie"))) {
            assertThat(pool.run(new Job(
                            "fine-grained",
                            Refused.class.getName(),
                            Map.of(),
                            2,
                            Map.of(EpKeys.DEVICE.name(), "hip:0", EpKeys.BACKEND_REQUIRE.name(), RocmProvider.ID),
                            GroupFactory.Plain.class.getName(),
                            Guard.minutes(2))))
                    .allSatisfy(report ->
                            assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
        }
    }

    /** Actions of every rank. */
    public static final class Refused implements Scenario {
        @Override
        public void run(RankContext context) {
            EpShape shape = EpShape.builder(128, 4, 2).maxTokens(4).build();
            try (EpGroup group = context.newGroup(RELAXED)) {
                assertThat(refusal(group, shape))
                        .contains("ep.gpu.publish=relaxed")
                        .contains("symmetric memory of hip:0 is fine-grained");
            }
        }

        private static String refusal(EpGroup group, EpShape shape) {
            try (var buffer = group.createBuffer(shape)) {
                return "made " + buffer;
            } catch (EpUnavailableException e) {
                return String.valueOf(e.getMessage());
            }
        }
    }
}
