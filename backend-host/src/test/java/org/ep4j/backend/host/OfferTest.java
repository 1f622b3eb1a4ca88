package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class OfferTest {
    private static final Map<String, String> FACTS = Map.of("folder", "/dev/shm");
    private static final Map<String, String> IDENTITY = Map.of("boot", "b0", "folder-id", "26:1", "uid", "1000");

    private final HostShmProvider provider = new HostShmProvider();

    private static RankProfile rank(int rank, String changed, String value) {
        Map<String, String> identity = new HashMap<>(IDENTITY);
        identity.put(changed, value);
        return TestRanks.profile(rank, FACTS, identity);
    }

    static RankProfile rank(int rank) {
        return TestRanks.profile(rank, FACTS, IDENTITY);
    }

    @Test
    void ranksOfOneMachineFolderAndUserShareMemory() {
        assertThat(provider.offer(rank(0), rank(1))).matches(Offer::isPath).satisfies(offer -> {
            assertThat(offer.kind()).isEqualTo(EpPath.Kind.MAPPED);
            assertThat(offer.nics()).isEmpty();
        });
    }

    @Test
    void thePathOfTheFolderMayDiffer() {
        assertThat(provider.offer(rank(0), TestRanks.profile(1, Map.of("folder", "/mnt/shared"), IDENTITY)))
                .matches(Offer::isPath);
    }

    @Test
    void ranksOfDifferentMachinesDoNot() {
        assertThat(provider.offer(rank(0), rank(3, "boot", "b1")))
                .matches(answer -> !answer.isPath())
                .satisfies(none -> {
                    assertThat(none.reason()).contains("different machines");
                    assertThat(none.remedy()).isNotEmpty();
                });
    }

    @Test
    void ranksThatCountAsDifferentHostsDoNot() {
        assertThat(provider.offer(rank(0), TestRanks.profile(3, "host-id/1", FACTS, IDENTITY)))
                .matches(answer -> !answer.isPath())
                .satisfies(none -> assertThat(none.reason()).contains("ep.host.ranks"));
    }

    @Test
    void ranksWithAPrivateFolderDoNot() {
        assertThat(provider.offer(rank(0), rank(3, "folder-id", "91:1")))
                .matches(answer -> !answer.isPath())
                .satisfies(none -> {
                    assertThat(none.reason()).contains("the peer's /dev/shm is not the same folder");
                    assertThat(none.remedy()).contains("--ipc", "volume", "ep.shm.dir");
                });
    }

    @Test
    void ranksOfDifferentUsersDoNot() {
        assertThat(provider.offer(rank(0), rank(3, "uid", "0")))
                .matches(answer -> !answer.isPath())
                .satisfies(none -> {
                    assertThat(none.reason()).contains("different users");
                    assertThat(none.remedy()).contains("same user");
                });
    }

    @Test
    void aRankWithoutFactsHasNoPath() {
        Offer offer = provider.offer(rank(0), TestRanks.profile(1, FACTS, Map.of("boot", "b0")));
        assertThat(offer)
                .matches(answer -> !answer.isPath())
                .satisfies(none -> assertThat(none.reason()).contains("the peer did not report"));
    }

    @Test
    void reasonsNameNeitherRanksNorIdentity() {
        for (RankProfile other : List.of(rank(3, "boot", "b1"), rank(3, "folder-id", "91:1"), rank(3, "uid", "4321"))) {
            assertThat(provider.offer(rank(7), other))
                    .matches(answer -> !answer.isPath())
                    .satisfies(none -> {
                        assertThat(none.reason())
                                .doesNotContain("rank 7", "rank 3", "b0", "b1", "26:1", "91:1", "1000", "4321");
                    });
        }
    }

    @Test
    void thePlannerPrintsTheReason() {
        assertThatThrownBy(() -> TestRanks.plan(List.of(rank(0), rank(1, "folder-id", "91:1"))))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("rank 0 (host-a, pid 1000, host:0) -> rank 1")
                .hasMessageContaining("the peer's /dev/shm is not the same folder")
                .hasMessageContaining("ep.shm.dir");
    }
}
