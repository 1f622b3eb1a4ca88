package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
final class NicNetworkTest {
    private static NicReach nic(String name, LinkLayer layer, PathType type, double gigabits) {
        return NicReach.builder(name, NicFamily.MLX5, new Distance(type, 96, 3))
                .ports(List.of(new NicReach.Port(1, layer, gigabits)))
                .build();
    }

    private static Locality around(int gpu, PathType infiniBand, PathType ethernet, double ethernetGigabits) {
        return Machines.gpu(
                gpu,
                List.of(
                        nic("ib0", LinkLayer.INFINIBAND, infiniBand, 400),
                        nic("eth0", LinkLayer.ETHERNET, ethernet, ethernetGigabits)));
    }

    private static List<List<String>> nics(List<Locality> localities) {
        List<RankProfile> profiles = new ArrayList<>();
        for (int rank = 0; rank < 2 * localities.size(); rank++) {
            int gpu = rank % localities.size();
            profiles.add(Machines.rank(rank, "h" + rank / localities.size(), localities.get(gpu), Map.of()));
        }
        GroupPlan plan = Planner.plan(profiles, List.of(Machines.posted()), BackendChoice.AUTO);
        return profiles.stream().map(profile -> plan.nics(profile.rank())).toList();
    }

    @Test
    void bothEndsOfAPathAreOnOneNetwork() {
        List<Locality> crossed =
                List.of(around(0, PathType.PIX, PathType.PXB, 400), around(1, PathType.PXB, PathType.PIX, 400));
        assertThat(nics(crossed)).containsOnly(List.of("ib0:1"));
    }

    @Test
    void theNetworkThatIsNearestForMostRanksIsTaken() {
        List<Locality> ethernet = List.of(
                around(0, PathType.PIX, PathType.PXB, 400),
                around(1, PathType.PXB, PathType.PIX, 400),
                around(2, PathType.PXB, PathType.PIX, 400));
        assertThat(nics(ethernet)).containsOnly(List.of("eth0:1"));
    }

    @Test
    void theWiderOfEquallyNearNetworksIsTaken() {
        assertThat(nics(List.of(around(0, PathType.PIX, PathType.PIX, 800)))).containsOnly(List.of("eth0:1"));
        assertThat(nics(List.of(around(0, PathType.PIX, PathType.PIX, 400)))).containsOnly(List.of("ib0:1"));
    }

    @Test
    void aNetworkThatSomeRanksLackIsNotTaken() {
        Locality onlyEthernet = Machines.gpu(1, List.of(nic("eth0", LinkLayer.ETHERNET, PathType.SYS, 25)));
        assertThat(nics(List.of(around(0, PathType.PIX, PathType.SYS, 25), onlyEthernet)))
                .containsOnly(List.of("eth0:1"));
    }
}
