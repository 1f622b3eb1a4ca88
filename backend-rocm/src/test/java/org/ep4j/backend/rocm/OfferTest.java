package org.ep4j.backend.rocm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.AbstractStringAssert;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.plan.ProfileCodec;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class OfferTest {
    private final RocmProvider provider = new RocmProvider();

    private static Offer path(Offer offer) {
        assertThat(offer).matches(Offer::isPath);
        return offer;
    }

    private static AbstractStringAssert<?> refused(Offer offer) {
        assertThat(offer).matches(answer -> !answer.isPath());
        assertThat(offer.remedy()).isNotEmpty();
        return assertThat(offer.reason() + " | " + offer.remedy());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 8})
    void gpusOfAHiveAreMappedAtTheRateOfTheirLink(int gpus) {
        AmdMachine host = AmdMachine.oneHive(gpus);
        for (int a = 0; a < gpus; a++) {
            for (int b = 0; b < gpus; b++) {
                Offer offer = path(provider.offer(host.profile(0, "h", a), host.profile(1, "h", b)));
                assertThat(offer.kind()).isEqualTo(EpPath.Kind.MAPPED);
                assertThat(offer.gigabytesPerSecond()).isBetween(40.0, 48.0);
                assertThat(offer.staged()).isFalse();
                assertThat(provider.byPci(host.profile(0, "h", a), host.profile(1, "h", b)))
                        .isFalse();
            }
        }
    }

    @Test
    void betweenHivesPciIsTakenAndItsOrderTried() {
        AmdMachine host = AmdMachine.of(List.of(1, 1, 2, 2), 1);
        RankProfile first = host.profile(0, "h", 0);
        assertThat(path(provider.offer(first, host.profile(1, "h", 1))).latencyMicros())
                .isLessThan(path(provider.offer(first, host.profile(2, "h", 2))).latencyMicros());
        assertThat(provider.byPci(first, host.profile(1, "h", 1))).isFalse();
        assertThat(provider.byPci(first, host.profile(2, "h", 2))).isTrue();
        assertThat(provider.byPci(first, host.profile(2, "h", 3))).isTrue();
    }

    @Test
    void withoutKfdTheFactsOfHipCount() {
        AmdMachine host = AmdMachine.of(List.of(1, 1, 0), 1).unreadable();
        assertThat(path(provider.offer(host.profile(0, "h", 0), host.profile(1, "h", 1)))
                        .gigabytesPerSecond())
                .isBetween(40.0, 48.0);
        path(provider.offer(host.profile(0, "h", 0), host.profile(1, "h", 2)));
        assertThat(provider.byPci(host.profile(0, "h", 0), host.profile(1, "h", 2)))
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void partitionsAreGpus(boolean functions) {
        AmdMachine whole = AmdMachine.of(List.of(1, 1), 4);
        AmdMachine host = functions ? whole : whole.withoutFunctions();
        for (int other = 1; other < 8; other++) {
            Offer offer = path(provider.offer(host.profile(0, "h", 0), host.profile(1, "h", other)));
            assertThat(offer.gigabytesPerSecond()).isGreaterThan(20);
        }
        assertThat(host.probe(5).facts()).containsEntry("gpu", "0000:11:00.1");
    }

    @Test
    void aHiddenGpuIsRefusedWithTheFix() {
        AmdMachine all = AmdMachine.oneHive(4);
        AmdMachine one = all.showing(List.of(2));
        refused(provider.offer(one.profile(0, "h", 0), all.profile(1, "h", 1)))
                .contains("0000:11:00.0 is hidden from the rank with the GPU at 0000:12:00.0", "ep.device");
        refused(provider.offer(all.profile(0, "h", 1), one.profile(1, "h", 0))).contains("is hidden");
    }

    @Test
    void accessThatIsDeniedOneWayIsRefusedBothWays() {
        AmdMachine host = AmdMachine.oneHive(3).denying(0, 1);
        RankProfile a = host.profile(0, "h", 0);
        RankProfile b = host.profile(1, "h", 1);
        refused(provider.offer(a, b)).contains("denies peer access", "0000:10:00.0", "showtopoaccess", "large BARs");
        refused(provider.offer(b, a)).contains("denies peer access");
        path(provider.offer(a, host.profile(2, "h", 2)));
    }

    @Test
    void processesNeedOneUserAndOnePidNamespaceAndThreadsNeither() {
        AmdMachine host = AmdMachine.oneHive(2);
        RankProfile here = host.profile(0, "h", 0);
        refused(provider.offer(
                        here,
                        host.in(new ProcessFacts("q", "1000", "pid:[2]", "")).profile(1, "h", 1)))
                .contains("PID namespaces", "--pid=host");
        refused(provider.offer(
                        here, host.in(new ProcessFacts("q", "0", "pid:[1]", "")).profile(1, "h", 1)))
                .contains("different users");
        path(provider.offer(
                here, host.in(new ProcessFacts("q", "1000", "pid:[1]", "")).profile(1, "h", 1)));
        path(provider.offer(
                here, host.in(new ProcessFacts("q", "1000", "pid:[1]", "")).profile(1, "h", 0)));
    }

    @Test
    void hostsOtherDevicesAndSilentRanksAreRefused() {
        RankProfile gpu = AmdMachine.oneHive(2).profile(0, "h", 0);
        refused(provider.offer(gpu, AmdMachine.oneHive(2).profile(1, "i", 1)))
                .contains("different hosts", "xGMI connects only GPUs of one host", "NIC backend");
        for (String device : List.of("host", "cuda:0")) {
            RankProfile other = RankProfile.builder(1, "h", Device.parse(device))
                    .pid(1)
                    .backends(gpu.backends())
                    .settings(gpu.settings())
                    .build();
            refused(provider.offer(gpu, other)).contains("not an AMD GPU");
            refused(provider.offer(other, gpu)).contains("not an AMD GPU");
        }
        RankProfile silent = RankProfile.builder(1, "h", gpu.device()).pid(1).build();
        refused(provider.offer(gpu, silent)).contains("did not report its GPU");
    }

    @Test
    void descriptionsAreOfAmdGpusAlone() {
        assertThat(describe(Device.cuda(0)).failures())
                .singleElement()
                .satisfies(check -> assertThat(check.remedy()).contains("ipc-nvlink", "host-shm"));
        assertThat(describe(Device.hip(0)).usable()).isTrue();
    }

    private ProbeReport describe(Device device) {
        return provider.describe(
                RankProfile.builder(0, "a", device).pid(1).build(),
                EpConfig.builder(Map.of(), Map.of()).build());
    }

    private static RankProfile rank(int number, AmdMachine machine, int shown, int ordinal, int who) {
        List<Integer> visible = new ArrayList<>(AmdMachine.upTo(machine.cards() * machine.partitions()));
        visible.removeIf(gpu -> (shown >> gpu % 8 & 1) == 0);
        if (visible.isEmpty()) {
            visible.add(0);
        }
        ProcessFacts process =
                new ProcessFacts("p" + (who & 1), "" + (who >> 1 & 1), "pid:[" + (who >> 2 & 1) + "]", "");
        return machine.showing(visible).in(process).profile(number, "h", ordinal % visible.size());
    }

    @Property(tries = 300)
    void bothDirectionsGetTheSameAnswerWhateverTheRanksSee(
            @ForAll @IntRange(max = 2) int shape,
            @ForAll boolean readable,
            @ForAll @IntRange(max = 255) int shownHere,
            @ForAll @IntRange(max = 255) int shownThere,
            @ForAll @IntRange(max = 7) int ordinalHere,
            @ForAll @IntRange(max = 7) int ordinalThere,
            @ForAll @IntRange(max = 7) int whoHere,
            @ForAll @IntRange(max = 7) int whoThere) {
        AmdMachine whole = shape == 0
                ? AmdMachine.oneHive(8)
                : shape == 1 ? AmdMachine.of(List.of(1, 1, 2, 2, 0, 0), 1) : AmdMachine.of(List.of(1, 1), 4);
        AmdMachine machine = readable ? whole : whole.unreadable();
        RankProfile a = rank(0, machine, shownHere | 1, ordinalHere, whoHere);
        RankProfile b = rank(1, machine, shownThere | 1, ordinalThere, whoThere);
        Offer there = provider.offer(a, b);
        Offer back = provider.offer(b, a);
        assertThat(back.isPath()).isEqualTo(there.isPath());
        assertThat(provider.offer(
                        ProfileCodec.decode(ProfileCodec.encode(a)), ProfileCodec.decode(ProfileCodec.encode(b))))
                .isEqualTo(there);
        if (!there.isPath()) {
            assertThat(there.reason()).isNotBlank().doesNotContain("rank 0", "rank 1", "pid:[", "p0", "p1");
            assertThat(there.remedy()).isNotBlank();
        } else {
            assertThat(provider.byPci(a, b)).isEqualTo(provider.byPci(b, a));
            assertThat(back.gigabytesPerSecond()).isEqualTo(there.gigabytesPerSecond());
        }
    }
}
