package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class OfferTest {
    private static final Map<String, String> FACTS =
            Map.of("boot", "b0", "folder", "/dev/shm", "folder-id", "26:1", "uid", "1000");

    private final HostShmProvider provider = new HostShmProvider();

    private static RankProfile rank(int rank, String changed, String value) {
        Map<String, String> facts = new HashMap<>(FACTS);
        facts.put(changed, value);
        return TestRanks.profile(rank, facts);
    }

    static RankProfile rank(int rank) {
        return TestRanks.profile(rank, FACTS);
    }

    @Test
    void ranksOfOneMachineFolderAndUserShareMemory() {
        assertThat(provider.offer(rank(0), rank(1))).isInstanceOfSatisfying(PathOffer.class, offer -> {
            assertThat(offer.kind()).isEqualTo(PathKind.MAPPED);
            assertThat(offer.nics()).isEmpty();
        });
    }

    @Test
    void thePathOfTheFolderMayDiffer() {
        assertThat(provider.offer(rank(0), rank(1, "folder", "/mnt/shared"))).isInstanceOf(PathOffer.class);
    }

    @Test
    void ranksOfDifferentMachinesDoNot() {
        assertThat(provider.offer(rank(0), rank(3, "boot", "b1"))).isInstanceOfSatisfying(NoPath.class, none -> {
            assertThat(none.reason()).contains("rank 0", "rank 3", "different machines", "b0", "b1");
            assertThat(none.remedy()).isNotEmpty();
        });
    }

    @Test
    void ranksWithAPrivateFolderDoNot() {
        assertThat(provider.offer(rank(0), rank(3, "folder-id", "91:1"))).isInstanceOfSatisfying(NoPath.class, none -> {
            assertThat(none.reason()).contains("rank 3", "another /dev/shm", "91:1", "26:1");
            assertThat(none.remedy()).contains("--ipc", "volume", "ep.shm.dir");
        });
    }

    @Test
    void ranksOfDifferentUsersDoNot() {
        assertThat(provider.offer(rank(0), rank(3, "uid", "0"))).isInstanceOfSatisfying(NoPath.class, none -> {
            assertThat(none.reason()).contains("rank 3", "user id 1000", "as 0");
            assertThat(none.remedy()).contains("same user");
        });
    }

    @Test
    void aRankWithoutFactsHasNoPath() {
        Offer offer = provider.offer(rank(0), TestRanks.profile(1, Map.of("boot", "b0")));
        assertThat(offer)
                .isInstanceOfSatisfying(
                        NoPath.class, none -> assertThat(none.reason()).contains("rank 1", "did not report"));
    }

    @Test
    void thePlannerPrintsTheReason() {
        assertThatThrownBy(() -> TestRanks.plan(List.of(rank(0), rank(1, "folder-id", "91:1"))))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("another /dev/shm")
                .hasMessageContaining("ep.shm.dir");
    }
}
