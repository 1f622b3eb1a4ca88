package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
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
    private final IbrcProvider provider = new IbrcProvider();

    private static Locality host(NicFamily family, String... names) {
        List<NicReach> nics = List.of(names).stream()
                .map(name -> NicReach.builder(name, family, new Distance(PathType.PHB, 0, 0))
                        .ports(List.of(new NicReach.Port(1, LinkLayer.ETHERNET, 100)))
                        .build())
                .toList();
        return Locality.builder().nics(nics).build();
    }

    private static RankProfile profile(int rank, Locality locality, Map<String, String> facts) {
        return RankProfile.builder(rank, "h" + rank, Device.HOST)
                .pid(1)
                .locality(locality)
                .backends(Map.of(IbrcProvider.ID, RankProfile.BackendProfile.of(facts, Map.of())))
                .build();
    }

    private ProbeReport describe(Device device, Locality locality) {
        RankProfile described =
                RankProfile.builder(0, "h", device).locality(locality).build();
        return provider.describe(described, EpConfig.builder(Map.of(), Map.of()).build());
    }

    @Test
    void isFoundAsAService() {
        assertThat(ServiceLoader.load(EpBackendProvider.class).stream()
                        .map(one -> one.get().id()))
                .contains(IbrcProvider.ID);
    }

    @Test
    void probesWithoutThrowingAndSaysWhatIsMissing() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        ProbeReport report = provider.probe(ProbeRequest.of(Device.HOST, config, Duration.ofSeconds(20)));
        assertThat(report.checks()).hasSize(9);
        assertThat(report.failures())
                .allSatisfy(check -> assertThat(check.remedy()).isNotEmpty());
        if (!Files.exists(Path.of("/sys/class/infiniband"))) {
            assertThat(report.usable()).isFalse();
        }
    }

    @Test
    void aGpuIsServedByProxyThreads() {
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        ProbeReport report = provider.probe(ProbeRequest.of(Device.parse("cuda:0"), config, Duration.ofSeconds(20)));
        assertThat(report.checks())
                .filteredOn(check -> check.code().equals("EP-IBR-001"))
                .singleElement()
                .satisfies(check -> assertThat(check.detail()).contains("cuda:0", "proxy threads"));
        assertThat(report.failures()).extracting(Check::code).doesNotContain("EP-IBR-001");
    }

    @Test
    void offersThePortsOfVerbsNics() {
        Locality place = host(NicFamily.MLX5, "mlx5_0", "mlx5_1");
        Offer offer = provider.offer(profile(0, place, Map.of()), profile(1, place, Map.of()));
        assertThat(offer.kind()).isEqualTo(EpPath.Kind.HOST_POSTED);
        assertThat(offer.nics()).containsExactly("mlx5_0:1", "mlx5_1:1");
        assertThat(offer.staged()).isFalse();
        assertThat(offer.gigabytesPerSecond()).isEqualTo(22.5);
    }

    @Test
    void theLimitsOfTheNicAreTold() {
        Map<NicFamily, String> texts = Map.of(
                NicFamily.MLX5, "no limit",
                NicFamily.BNXT, "1.5 MiB, 32 writes of high throughput, 1024 of low latency (Broadcom Thor-2)",
                NicFamily.IONIC, "2.0 MiB, 32 writes of high throughput, 1024 of low latency (AMD Pollara)");
        texts.forEach((family, text) -> {
            Locality place = host(family, "nic0");
            Offer offer = provider.offer(profile(0, place, Map.of()), profile(1, place, Map.of()));
            assertThat(offer.flow()).isEqualTo(text);
        });
    }

    @Test
    void aMachineWithGpusIsDescribedWithoutRemarks() {
        ProbeReport gpu = describe(Device.parse("hip:0"), host(NicFamily.BNXT, "bnxt_re0"));
        assertThat(gpu.checks()).allMatch(check -> check.status() == Check.Status.PASS);
    }

    @Test
    void offersOnlyPortsThatCanSend() {
        Locality place = host(NicFamily.MLX5, "mlx5_0", "mlx5_1", "mlx5_10");
        Map<String, String> one = Map.of(IbrcOffer.PORTS, "mlx5_1:1");
        Offer offer = provider.offer(profile(0, place, one), profile(1, place, Map.of()));
        assertThat(offer.nics()).containsExactly("mlx5_1:1");
        assertThat(provider.offer(profile(0, place, Map.of(IbrcOffer.PORTS, "")), profile(1, place, one)))
                .matches(answer -> !answer.isPath());
    }

    @Test
    void offersOnePortOfTwoWhereTheOtherHasNoAddress() {
        NicReach card = NicReach.builder("mlx5_0", NicFamily.MLX5, new Distance(PathType.PHB, 0, 0))
                .card("card")
                .ports(List.of(
                        new NicReach.Port(1, LinkLayer.ETHERNET, 100, "10.0.0.0/24"),
                        new NicReach.Port(2, LinkLayer.ETHERNET, 100, "")))
                .build();
        Locality place = Locality.builder().nics(List.of(card)).build();
        List<RankProfile> profiles = List.of(
                profile(0, place, Map.of(IbrcOffer.PORTS, "mlx5_0:1")),
                profile(1, place, Map.of(IbrcOffer.PORTS, "mlx5_0:1")));
        GroupPlan plan = Planner.plan(
                profiles, List.of(new Planner.Candidate(IbrcProvider.ID, provider::offer)), PlanOptions.AUTO);
        assertThat(plan.nics(0)).containsExactly("mlx5_0:1");
        assertThat(plan.nics(1)).containsExactly("mlx5_0:1");
    }

    @Test
    void describesWhatADescriptionLacks() {
        ProbeReport efa = describe(Device.HOST, host(NicFamily.EFA, "efa_0"));
        assertThat(efa.failures()).singleElement().satisfies(check -> {
            assertThat(check.code()).isEqualTo("EP-IBR-004");
            assertThat(check.detail()).contains("mlx5, bnxt, ionic, irdma, rxe)", "EFA");
        });
        Locality rxe = host(NicFamily.RXE, "rxe0");
        assertThat(describe(Device.HOST, rxe).usable()).isTrue();
        assertThat(describe(Device.cuda(0), rxe).usable()).isTrue();
        assertThat(describe(Device.HOST, host(NicFamily.SIW, "siw0")).usable()).isFalse();
    }
}
