package org.ep4j.plan.offer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class NicPathsTest {
    private static NicReach nic(String name, PathType type, double gigabits, Optional<Boolean> direct) {
        return nic(name, type, gigabits, direct, LinkLayer.INFINIBAND);
    }

    private static NicReach nic(
            String name, PathType type, double gigabits, Optional<Boolean> direct, LinkLayer layer) {
        NicReach.Builder nic = NicReach.builder(name, NicFamily.MLX5, new Distance(type, 48, 3))
                .ports(List.of(new NicReach.Port(1, layer, gigabits)));
        direct.ifPresent(nic::gpuDirect);
        return nic.build();
    }

    private static Locality gpu(int gpus, NicReach... nics) {
        return Locality.builder()
                .gpu(0)
                .vendor(GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .gpus(gpus)
                .nics(List.of(nics))
                .build();
    }

    private static NicPaths paths(Locality locality) {
        return NicPaths.of(locality, nic -> true).orElseThrow();
    }

    @Test
    void nearPortsAreHeldAndFarOnesAreLeftToOthers() {
        NicPaths paths = paths(gpu(
                2,
                nic("a", PathType.PIX, 200, Optional.of(true)),
                nic("b", PathType.PIX, 200, Optional.of(true)),
                nic("c", PathType.SYS, 200, Optional.of(true)),
                nic("d", PathType.SYS, 200, Optional.of(true))));
        assertThat(paths.names()).containsExactly("a:1", "b:1");
        assertThat(paths.near()).isEqualTo(2);
        assertThat(paths.direct()).isTrue();
        assertThat(paths.gigabytesPerSecond()).isCloseTo(50 * Estimates.NIC_EFFICIENCY, within(1e-9));
    }

    @Test
    void gpusThatAreEquallyNearToTheSameNicsGetTheirShares() {
        NicPaths paths = paths(gpu(8, nic("a", PathType.PIX, 100, Optional.empty())));
        assertThat(paths.gigabytesPerSecond()).isCloseTo(12.5 / 8 * Estimates.NIC_EFFICIENCY, within(1e-9));
    }

    @Test
    void aNicReachesGpuMemoryWhereItIsNearAndNobodySaysOtherwise() {
        assertThat(paths(gpu(1, nic("a", PathType.PXB, 100, Optional.empty()))).direct())
                .isTrue();
        assertThat(paths(gpu(1, nic("a", PathType.P2C, 100, Optional.empty()))).direct())
                .isTrue();
        assertThat(paths(gpu(1, nic("a", PathType.PHB, 100, Optional.of(true)))).direct())
                .isFalse();
        assertThat(paths(gpu(1, nic("a", PathType.PIX, 100, Optional.of(false))))
                        .direct())
                .isFalse();
        Locality host = Locality.builder()
                .numa(0)
                .nics(List.of(nic("a", PathType.SYS, 100, Optional.empty())))
                .build();
        assertThat(paths(host).direct()).isTrue();
    }

    @Test
    void anUnknownRateIsThatOfThePcieLink() {
        NicPath path =
                paths(gpu(1, nic("a", PathType.PIX, 0, Optional.empty()))).nearest();
        assertThat(path.gigabytesPerSecond()).isEqualTo(48);
        assertThat(path.rateAssumed()).isFalse();
    }

    @Test
    void withoutUsableNicsThereIsNothing() {
        assertThat(NicPaths.of(gpu(1), nic -> true)).isEmpty();
        assertThat(NicPaths.of(gpu(1, nic("a", PathType.PIX, 100, Optional.empty())), nic -> false))
                .isEmpty();
    }

    private static NicOffers.Side side(String host, NicReach nic) {
        Locality locality = gpu(4, nic);
        RankProfile rank = RankProfile.builder(0, host, Device.cuda(0))
                .pid(1)
                .locality(locality)
                .build();
        return new NicOffers.Side(rank, NicPaths.of(locality, one -> true));
    }

    private static Offer offer(NicOffers.Side from, NicOffers.Side to) {
        return NicOffers.between(from, to, EpPath.Kind.HOST_POSTED, 4);
    }

    @Test
    void theSlowerSideAndTheDetourDecideAnOffer() {
        NicReach fast = nic("a", PathType.PIX, 400, Optional.empty());
        NicReach slow = nic("a", PathType.PIX, 100, Optional.empty());
        NicReach far = nic("a", PathType.SYS, 400, Optional.empty());
        Offer narrow = offer(side("x", fast), side("y", slow));
        assertThat(narrow.gigabytesPerSecond()).isCloseTo(12.5 / 4 * Estimates.NIC_EFFICIENCY, within(1e-9));
        assertThat(narrow.staged()).isFalse();
        Offer staged = offer(side("x", fast), side("y", far));
        assertThat(staged.staged()).isTrue();
        assertThat(staged.latencyMicros()).isGreaterThan(narrow.latencyMicros());
    }

    @Test
    void peersOfOneHostShareItsNics() {
        NicReach nic = nic("a", PathType.PIX, 400, Optional.empty());
        Offer across = offer(side("x", nic), side("y", nic));
        Offer within = offer(side("x", nic), side("x", nic));
        assertThat(within.gigabytesPerSecond()).isEqualTo(across.gigabytesPerSecond());
        assertThat(within.sharedGigabytesPerSecond()).isCloseTo(across.gigabytesPerSecond() / 3, within(1e-9));
        assertThat(across.sharers()).isOne();
        assertThat(within.sharers()).isEqualTo(3);
    }

    @Test
    void networksOfDifferentLinkLayersAreNoPath() {
        NicReach ib = nic("a", PathType.PIX, 400, Optional.empty(), LinkLayer.INFINIBAND);
        NicReach ethernet = nic("a", PathType.PIX, 400, Optional.empty(), LinkLayer.ETHERNET);
        NicReach unknown = nic("a", PathType.PIX, 400, Optional.empty(), LinkLayer.UNSPECIFIED);
        assertThat(offer(side("x", ib), side("y", ethernet))).matches(answer -> !answer.isPath());
        assertThat(offer(side("x", ib), side("y", unknown))).matches(Offer::isPath);
    }
}
