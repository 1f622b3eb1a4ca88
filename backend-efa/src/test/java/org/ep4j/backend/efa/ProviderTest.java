package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.ServiceLoader;
import org.ep4j.BufferSize;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.forecast.Sizing;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ProviderTest {
    private final EfaProvider provider = new EfaProvider();

    private static Locality host(NicFamily family, String... names) {
        List<NicReach> nics = List.of(names).stream()
                .map(name -> NicReach.builder(name, family, new Distance(PathType.PHB, 0, 0))
                        .ports(List.of(new NicReach.Port(1, LinkLayer.ETHERNET, 100)))
                        .build())
                .toList();
        return Locality.builder().nics(nics).build();
    }

    private static RankProfile profile(int rank, String host, Locality locality, Map<String, String> facts) {
        return RankProfile.builder(rank, host, Device.HOST)
                .pid(1)
                .locality(locality)
                .backends(Map.of(EfaProvider.ID, RankProfile.BackendProfile.of(facts, Map.of())))
                .build();
    }

    private ProbeReport describe(Device device, Locality locality) {
        RankProfile described =
                RankProfile.builder(0, "h", device).locality(locality).build();
        return provider.describe(described, EpConfig.builder(Map.of(), Map.of()).build());
    }

    private static Map<String, String> facts(String providers, String... nics) {
        Map<String, String> facts = new HashMap<>(Map.of("providers", providers));
        for (int i = 0; i < nics.length; i += 2) {
            facts.put("nics." + nics[i], nics[i + 1]);
        }
        return facts;
    }

    @Test
    void isFoundAsAService() {
        assertThat(ServiceLoader.load(EpBackendProvider.class).stream()
                        .map(one -> one.get().id()))
                .contains(EfaProvider.ID);
    }

    @Test
    void probesWithoutThrowingAndSaysWhatIsMissing() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        ProbeReport report = provider.probe(ProbeRequest.of(Device.HOST, config, Duration.ofSeconds(20)));
        assertThat(report.checks())
                .extracting(Check::code)
                .doesNotHaveDuplicates()
                .hasSize(8);
        assertThat(report.failures())
                .allSatisfy(check -> assertThat(check.remedy()).isNotEmpty());
        assertThat(report.usable()).isEqualTo(report.facts().containsKey("providers"));
    }

    @Test
    void settingsThatLibfabricCannotBeToldAreNamed() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of("UCCL_IB_GID_INDEX", "3", "UCCL_IB_SL", "5"))
                .build();
        assertThat(EfaProbe.settings(config)).satisfies(check -> {
            assertThat(check.status()).isEqualTo(Check.Status.WARN);
            assertThat(check.detail()).contains("ep.nic.gid-index", "ep.nic.service-level");
        });
    }

    @Test
    void aGpuIsServedByProxyThreads() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        ProbeReport report = provider.probe(ProbeRequest.of(Device.parse("cuda:0"), config, Duration.ofSeconds(20)));
        assertThat(report.checks())
                .filteredOn(check -> check.code().equals("EP-EFA-001"))
                .singleElement()
                .satisfies(check -> assertThat(check.detail()).contains("cuda:0", "proxy threads"));
        assertThat(report.failures()).extracting(Check::code).doesNotContain("EP-EFA-001");
    }

    @Test
    void offersEfaWithItsNics() {
        Locality place = host(NicFamily.EFA, "rdmap0s6", "rdmap1s6");
        Map<String, String> facts = facts("efa,efa-direct,tcp", "efa", "rdmap0s6,rdmap1s6", "tcp", "eth0");
        Offer offer = provider.offer(profile(0, "a", place, facts), profile(1, "b", place, facts));
        assertThat(offer.kind()).isEqualTo(EpPath.Kind.HOST_POSTED);
        assertThat(offer.nics()).containsExactly("rdmap0s6:1", "rdmap1s6:1");
        assertThat(offer.gigabytesPerSecond()).isEqualTo(22.5);
        assertThat(offer.latencyMicros()).isEqualTo(Estimates.EFA_MICROS);
        assertThat(offer.flow()).isEqualTo("256 writes of high throughput, 1024 of low latency (AWS EFA)");
    }

    @Test
    void theLimitsOfTheNicAreTold() {
        Map<String, String> facts = facts("verbs;ofi_rxm", "verbs;ofi_rxm", "bnxt_re0");
        Locality place = host(NicFamily.BNXT, "bnxt_re0");
        Offer offer = provider.offer(profile(0, "a", place, facts), profile(1, "b", place, facts));
        assertThat(offer.flow())
                .isEqualTo("1.5 MiB, 32 writes of high throughput, 1024 of low latency (Broadcom Thor-2)");
        Offer sockets = provider.offer(
                profile(0, "a", Locality.UNKNOWN, Map.of()), profile(1, "b", Locality.UNKNOWN, Map.of()));
        assertThat(sockets.flow()).isEqualTo("no limit");
    }

    @Test
    void aMachineWithGpusIsDescribedWithoutRemarks() {
        ProbeReport gpu = describe(Device.parse("cuda:0"), host(NicFamily.EFA, "rdmap0s6"));
        assertThat(gpu.checks()).allMatch(check -> check.status() == Check.Status.PASS);
    }

    @Test
    void ranksMeetInTheBestProviderThatBothHave() {
        Locality place = host(NicFamily.EFA, "rdmap0s6");
        Map<String, String> efa = facts("efa,tcp", "efa", "rdmap0s6", "tcp", "eth0");
        Map<String, String> tcp = facts("tcp", "tcp", "eth0");
        Offer offer = provider.offer(profile(0, "a", place, efa), profile(1, "b", Locality.UNKNOWN, tcp));
        assertThat(offer.gigabytesPerSecond()).isLessThanOrEqualTo(Estimates.SOCKET_GIGABYTES);
        assertThat(offer.latencyMicros()).isEqualTo(Estimates.SOCKET_MICROS);
        assertThat(provider.offer(
                        profile(0, "a", place, facts("efa", "efa", "rdmap0s6")),
                        profile(1, "b", Locality.UNKNOWN, tcp)))
                .matches(answer -> !answer.isPath())
                .satisfies(none ->
                        assertThat(none.reason()).contains("the sending rank has efa", "the receiving rank has tcp"));
    }

    @Test
    void shmConnectsOneHostAlone() {
        Map<String, String> shm = facts("shm", "shm", "shm");
        assertThat(provider.offer(profile(0, "a", Locality.UNKNOWN, shm), profile(1, "a", Locality.UNKNOWN, shm)))
                .matches(Offer::isPath);
        assertThat(provider.offer(profile(0, "a", Locality.UNKNOWN, shm), profile(1, "b", Locality.UNKNOWN, shm)))
                .matches(answer -> !answer.isPath());
    }

    @Test
    void verbsAreSlowerThanByTheirOwnBackend() {
        Locality place = host(NicFamily.MLX5, "mlx5_0");
        Map<String, String> facts = facts("verbs;ofi_rxm,tcp", "verbs;ofi_rxm", "mlx5_0", "tcp", "eth0");
        Offer offer = provider.offer(profile(0, "a", place, facts), profile(1, "b", place, facts));
        assertThat(offer.gigabytesPerSecond()).isLessThan(11.25);
        assertThat(offer.latencyMicros()).isGreaterThan(Estimates.NETWORK_MICROS + Estimates.PCI_MICROS);
    }

    @Test
    void describesMachinesByTheirNics() {
        ProbeReport efa = describe(Device.HOST, host(NicFamily.EFA, "rdmap0s6"));
        assertThat(efa.usable()).isTrue();
        assertThat(efa.checks()).allMatch(check -> check.status() == Check.Status.PASS);
        ProbeReport none = describe(Device.HOST, Locality.UNKNOWN);
        assertThat(none.usable()).isTrue();
        assertThat(none.checks())
                .anySatisfy(check -> assertThat(check.detail()).contains("no EFA and no Slingshot NIC"));
    }

    private static GroupPlan plan(RankProfile a, RankProfile b, List<String> nicsOfA, List<String> nicsOfB) {
        return GroupPlan.of(List.of(a, b), List.of(local(0), path(0, 1, nicsOfA), path(1, 0, nicsOfB), local(1)));
    }

    private static EpPath local(int rank) {
        return EpPath.builder(rank, rank, "local", EpPath.Kind.LOCAL).build();
    }

    private static EpPath path(int from, int to, List<String> nics) {
        return EpPath.builder(from, to, EfaProvider.ID, EpPath.Kind.HOST_POSTED)
                .nics(nics)
                .lanes(1)
                .gigabytesPerSecond(10)
                .latencyMicros(15)
                .build();
    }

    @Test
    void bothEndsComeToTheSameRails() {
        Map<String, String> two = facts("efa", "efa", "x,y,z");
        Map<String, String> one = facts("efa", "efa", "v");
        GroupPlan plan = plan(
                profile(0, "a", Locality.UNKNOWN, two),
                profile(1, "b", Locality.UNKNOWN, one),
                List.of("y:1", "x:1"),
                List.of("v:1"));
        Route first = Route.of(plan, plan.profiles(), 0, 1);
        Route second = Route.of(plan, plan.profiles(), 1, 0);
        assertThat(first.mine()).containsExactly("y", "x").isEqualTo(second.theirs());
        assertThat(first.theirs()).containsExactly("v", "v").isEqualTo(second.mine());
        assertThat(first.provider()).isEqualTo("efa");
    }

    @Property(tries = 200)
    void aPlanCountsTheEndpointsThatAreOpened(@ForAll long seed) {
        Random random = new Random(seed);
        int ranks = 2 + random.nextInt(3);
        List<RankProfile> profiles = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            profiles.add(profile(rank, "h" + rank, Locality.UNKNOWN, facts("efa", "efa", "a,b,c,d")));
        }
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < ranks; from++) {
            // NICs of the rank, one or two ports of each.
            List<String> nics = new ArrayList<>();
            for (String nic : List.of("a", "b", "c", "d").subList(0, 1 + random.nextInt(4))) {
                nics.add(nic + ":1");
                if (random.nextBoolean()) {
                    nics.add(nic + ":2");
                }
            }
            for (int to = 0; to < ranks; to++) {
                paths.add(from == to ? local(from) : path(from, to, nics));
            }
        }
        GroupPlan plan = GroupPlan.of(profiles, paths);
        long most = 0;
        for (int rank = 0; rank < ranks; rank++) {
            long opened = 0;
            for (int peer = 0; peer < ranks; peer++) {
                opened += rank == peer
                        ? 0
                        : Route.of(plan, plan.profiles(), rank, peer).rails();
            }
            most = Math.max(most, opened);
        }
        assertThat(Sizing.of(plan, BufferSize.of(1, 1)).endpointsPerRank()).isEqualTo(most);
    }

    @Test
    void shmIsRefusedInsideOfAProcess() {
        Map<String, String> shm = facts("shm", "shm", "shm");
        GroupPlan plan = plan(
                profile(0, "a", Locality.UNKNOWN, shm), profile(1, "a", Locality.UNKNOWN, shm), List.of(), List.of());
        assertThatThrownBy(() -> Route.of(plan, plan.profiles(), 0, 1))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll("one process", "ep.efa.provider", "host-shm");
    }
}
