package org.ep4j.plan.offer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
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
        return new NicReach(
                name,
                NicFamily.MLX5,
                name,
                new Distance(type, 48, 3),
                direct,
                List.of(new NicReach.Port(1, layer, gigabits)));
    }

    private static Locality gpu(int gpus, NicReach... nics) {
        return new Locality(0, GpuVendor.NVIDIA, "sm_90", 0, gpus, List.of(), List.of(nics));
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
        Locality host = new Locality(
                -1, GpuVendor.OTHER, "", 0, 0, List.of(), List.of(nic("a", PathType.SYS, 100, Optional.empty())));
        assertThat(paths(host).direct()).isTrue();
    }

    @Test
    void aRateThatNobodyTellsIsThatOfThePcieLink() {
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
        RankProfile rank = new RankProfile(0, host, host, 1, new Device("cuda", 0), locality, "", Map.of(), Map.of());
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
        PathOffer narrow = (PathOffer) offer(side("x", fast), side("y", slow));
        assertThat(narrow.gigabytesPerSecond()).isCloseTo(12.5 / 4 * Estimates.NIC_EFFICIENCY, within(1e-9));
        assertThat(narrow.staged()).isFalse();
        PathOffer staged = (PathOffer) offer(side("x", fast), side("y", far));
        assertThat(staged.staged()).isTrue();
        assertThat(staged.latencyMicros()).isGreaterThan(narrow.latencyMicros());
    }

    @Test
    void peersOfOneHostShareItsNics() {
        NicReach nic = nic("a", PathType.PIX, 400, Optional.empty());
        PathOffer across = (PathOffer) offer(side("x", nic), side("y", nic));
        PathOffer within = (PathOffer) offer(side("x", nic), side("x", nic));
        assertThat(within.gigabytesPerSecond()).isEqualTo(across.gigabytesPerSecond());
        assertThat(within.sharedGigabytesPerSecond()).isCloseTo(across.gigabytesPerSecond() / 3, within(1e-9));
        assertThat(across.sharers()).isOne();
        assertThat(within.sharers()).isEqualTo(3);
    }

    @Test
    void networksThatCannotMeetAreNoPath() {
        NicReach ib = nic("a", PathType.PIX, 400, Optional.empty(), LinkLayer.INFINIBAND);
        NicReach ethernet = nic("a", PathType.PIX, 400, Optional.empty(), LinkLayer.ETHERNET);
        NicReach unknown = nic("a", PathType.PIX, 400, Optional.empty(), LinkLayer.UNSPECIFIED);
        assertThat(offer(side("x", ib), side("y", ethernet))).isInstanceOf(NoPath.class);
        assertThat(offer(side("x", ib), side("y", unknown))).isInstanceOf(PathOffer.class);
    }
}
