package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.backend.nvlink.Ranks.Joined;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.plan.ProfileCodec;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;

/** Properties of offers for every two ranks. */
@Tag("verify")
final class OfferPropertyTest {
    private final IpcNvlinkProvider provider = new IpcNvlinkProvider();

    private static RankProfile rank(int number, Joined joined, int present, int visible, int ordinal, int who) {
        List<Integer> container = chosen(present | 1);
        List<Integer> shown = new ArrayList<>(container);
        shown.removeIf(place -> (visible >> place & 1) == 0);
        if (shown.isEmpty()) {
            shown.add(container.get(0));
        }
        ProcessFacts process =
                new ProcessFacts("p" + (who & 1), "" + (who >> 1 & 1), "pid:[" + (who >> 2 & 1) + "]", "ipc");
        return Ranks.seeing(joined, container, shown).in(process).profile(number, "h", ordinal % shown.size());
    }

    private static List<Integer> chosen(int bits) {
        List<Integer> places = new ArrayList<>(Ranks.upTo(8));
        places.removeIf(place -> (bits >> place & 1) == 0);
        return places;
    }

    @Property
    void bothDirectionsGetTheSameAnswerWhateverTheRanksSee(
            @ForAll Joined joined,
            @ForAll @IntRange(max = 255) int presentHere,
            @ForAll @IntRange(max = 255) int presentThere,
            @ForAll @IntRange(max = 255) int visibleHere,
            @ForAll @IntRange(max = 255) int visibleThere,
            @ForAll @IntRange(max = 7) int ordinalHere,
            @ForAll @IntRange(max = 7) int ordinalThere,
            @ForAll @IntRange(max = 7) int whoHere,
            @ForAll @IntRange(max = 7) int whoThere) {
        RankProfile a = rank(0, joined, presentHere, visibleHere, ordinalHere, whoHere);
        RankProfile b = rank(1, joined, presentThere, visibleThere, ordinalThere, whoThere);
        Offer there = provider.offer(a, b);
        Offer back = provider.offer(b, a);
        if (joined != Joined.UNKNOWN) {
            // Where CUDA is the only source, a side that hides the other GPU knows less.
            assertThat(back.isPath()).isEqualTo(there.isPath());
        }
        assertThat(provider.offer(a, b)).isEqualTo(there);
        assertThat(provider.offer(
                        ProfileCodec.decode(ProfileCodec.encode(a)), ProfileCodec.decode(ProfileCodec.encode(b))))
                .isEqualTo(there);
        if (!there.isPath()) {
            assertThat(there.reason()).isNotBlank().doesNotContain("rank 0", "rank 1", "pid:[", "p0", "p1");
            assertThat(there.remedy()).isNotBlank();
        } else if (back.isPath() && joined != Joined.ROW) {
            assertThat(back.gigabytesPerSecond()).isEqualTo(there.gigabytesPerSecond());
        }
    }
}
