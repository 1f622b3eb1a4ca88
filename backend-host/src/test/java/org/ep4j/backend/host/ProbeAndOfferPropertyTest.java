package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;

/** Properties of probes and offers for every setting and every pair of ranks. */
@Tag("verify")
final class ProbeAndOfferPropertyTest {
    private final HostShmProvider provider = new HostShmProvider();

    @Property
    void bothDirectionsGetTheSameAnswerAndOnlyEqualIdentityGivesAPath(
            @ForAll @IntRange(max = 1) int boot,
            @ForAll @IntRange(max = 1) int folder,
            @ForAll @IntRange(max = 1) int user,
            @ForAll @IntRange(max = 1) int path) {
        RankProfile other = TestRanks.profile(
                1,
                Map.of("folder", path == 0 ? "/dev/shm" : Path.of("/mnt").toString()),
                Map.of(
                        "boot", "b" + boot,
                        "folder-id", folder == 0 ? "26:1" : "27:1",
                        "uid", user == 0 ? "1000" : "1001"));
        boolean expected = boot == 0 && folder == 0 && user == 0;
        assertThat(provider.offer(OfferTest.rank(0), other).isPath()).isEqualTo(expected);
        assertThat(provider.offer(other, OfferTest.rank(0)).isPath()).isEqualTo(expected);
    }

    @Property(tries = 200)
    void itNeverThrows(@ForAll String folder) {
        ProbeReport report = ProbeTest.probe(folder);
        assertThat(report.checks()).hasSize(7);
        assertThat(report.failures()).allSatisfy(c -> assertThat(c.remedy()).isNotEmpty());
    }
}
