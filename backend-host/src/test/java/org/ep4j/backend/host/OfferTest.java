package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
import org.junit.jupiter.api.Test;

final class OfferTest {
    private static final Map<String, String> FACTS =
            Map.of("boot", "b0", "folder", "/dev/shm", "folder-id", "26:1", "uid", "1000");

    private final HostShmProvider provider = new HostShmProvider();

    private static RankProfile rank(int rank, String changed, String value) {
        Map<String, String> facts = new HashMap<>(FACTS);
        facts.put(changed, value);
        return TestRanks.profile(rank, facts);
    }

    private static RankProfile rank(int rank) {
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

    @Property
    void bothDirectionsGetTheSameAnswerAndOnlyEqualFactsGiveAPath(
            @ForAll @IntRange(max = 1) int boot,
            @ForAll @IntRange(max = 1) int folder,
            @ForAll @IntRange(max = 1) int user,
            @ForAll @IntRange(max = 1) int path) {
        RankProfile other = TestRanks.profile(
                1,
                Map.of(
                        "boot", "b" + boot,
                        "folder", path == 0 ? "/dev/shm" : Path.of("/mnt").toString(),
                        "folder-id", folder == 0 ? "26:1" : "27:1",
                        "uid", user == 0 ? "1000" : "1001"));
        boolean expected = boot == 0 && folder == 0 && user == 0;
        assertThat(provider.offer(rank(0), other) instanceof PathOffer).isEqualTo(expected);
        assertThat(provider.offer(other, rank(0)) instanceof PathOffer).isEqualTo(expected);
    }
}
