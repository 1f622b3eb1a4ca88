package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.Planner;
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
final class PairingTest {
    private static final EpConfig CONFIG = EpConfig.builder(Map.of(), Map.of()).build();

    /** Hosts with one rank each; a NIC is written {@code name=network}. */
    private static GroupPlan plan(List<List<String>> hosts) {
        List<RankProfile> profiles = new ArrayList<>();
        for (List<String> nics : hosts) {
            profiles.add(profile(profiles.size(), "h" + profiles.size(), nics));
        }
        return plan(profiles.toArray(new RankProfile[0]));
    }

    private static GroupPlan plan(RankProfile... profiles) {
        IbrcProvider provider = new IbrcProvider();
        return Planner.plan(
                List.of(profiles),
                List.of(new Planner.Candidate(IbrcProvider.ID, provider::offer)),
                BackendChoice.AUTO);
    }

    private static RankProfile profile(int rank, String host, List<String> nics) {
        List<NicReach> reach = nics.stream()
                .map(nic -> nic.split("=", 2))
                .map(nic -> NicReach.builder(nic[0], NicFamily.MLX5, new Distance(PathType.PHB, 0, 0))
                        .ports(List.of(new NicReach.Port(1, LinkLayer.ETHERNET, 100, nic[1])))
                        .build())
                .toList();
        return RankProfile.builder(rank, host, Device.HOST)
                .pid(1)
                .locality(Locality.builder().nics(reach).build())
                .backends(Map.of(IbrcProvider.ID, RankProfile.BackendProfile.of(Map.of(), Map.of())))
                .build();
    }

    private static Pairing pairing(GroupPlan plan, EpConfig config) {
        Pairing there = Pairing.of(plan, 0, 1, config);
        Pairing back = Pairing.of(plan, 1, 0, config);
        assertThat(back).isEqualTo(new Pairing(there.theirs(), there.mine(), there.lanes(), there.apart()));
        return there;
    }

    @Test
    void portsOfOneNetworkAreJoined() {
        Pairing pairing = pairing(
                plan(List.of(List.of("a0=10.0.0.0/24", "a1=10.0.1.0/24"), List.of("b0=10.0.1.0/24", "b1=10.0.0.0/24"))),
                CONFIG);
        assertThat(pairing.mine()).containsExactly("a0:1", "a1:1");
        assertThat(pairing.theirs()).containsExactly("b1:1", "b0:1");
    }

    @Test
    void aNetworkThatOnlyOneRankHasIsLeftOut() {
        Pairing pairing = pairing(
                plan(List.of(List.of("a0=10.0.0.0/24", "a1=10.0.1.0/24"), List.of("b0=10.0.1.0/24", "b1=10.0.1.0/24"))),
                CONFIG);
        assertThat(pairing.mine()).containsExactly("a1:1", "a1:1");
        assertThat(pairing.theirs()).containsExactly("b0:1", "b1:1");
    }

    @Test
    void withoutACommonNetworkRoutersAreCountedOn() {
        Pairing pairing = pairing(plan(List.of(List.of("a0=10.0.0.0/24", "a1="), List.of("b0=10.0.1.0/24"))), CONFIG);
        assertThat(pairing.mine()).containsExactlyInAnyOrder("a0:1", "a1:1");
        assertThat(pairing.theirs()).containsExactly("b0:1", "b0:1");
    }

    @Test
    void aFartherPortOfACommonNetworkIsTakenWhereTheNearestHaveNone() {
        List<String> nics = List.of("n0=10.0.0.0/24", "n1=10.0.1.0/24");
        GroupPlan plan = plan(
                wishing(profile(0, "h0", nics), "0"), wishing(profile(1, "h0", nics), "1"),
                wishing(profile(2, "h1", nics), "0"), wishing(profile(3, "h1", nics), "1"));
        assertThat(plan.nics(0)).containsExactly("n0:1");
        assertThat(plan.nics(3)).containsExactly("n1:1");
        Pairing pairing = Pairing.of(plan, 0, 3, CONFIG);
        assertThat(pairing.mine()).containsExactly("n0:1");
        assertThat(pairing.theirs()).containsExactly("n0:1");
        assertThat(pairing.apart()).isEmpty();
        assertThat(Pairing.of(plan, 3, 0, CONFIG))
                .isEqualTo(new Pairing(pairing.theirs(), pairing.mine(), pairing.lanes()));
    }

    /** The same with the NICs of a GPU on either side of the machine: one near, the other far. */
    private static RankProfile wishing(RankProfile profile, String near) {
        List<NicReach> nics = profile.locality().nics().stream()
                .map(nic -> NicReach.builder(
                                nic.name(),
                                nic.family(),
                                new Distance(nic.name().endsWith(near) ? PathType.PHB : PathType.SYS, 0, 0))
                        .card(nic.card())
                        .ports(nic.ports())
                        .build())
                .sorted(Comparator.comparing((NicReach nic) -> nic.distance().type()))
                .toList();
        return profile.toBuilder()
                .locality(profile.locality().toBuilder().nics(nics).build())
                .build();
    }

    @Test
    void withoutACommonNetworkTheNetworksAreNamed() {
        Pairing pairing = pairing(plan(List.of(List.of("a0=10.0.0.0/24"), List.of("b0=10.0.1.0/24"))), CONFIG);
        assertThat(pairing.doubt()).contains("no network in common (10.0.0.0/24, 10.0.1.0/24)", "ep.nic.map");
        assertThat(pairing.mine()).containsExactly("a0:1");
    }

    @Test
    void ranksOfOneHostMeetOnBothWires() {
        List<String> nics = List.of("rxe0=10.99.0.0/24", "rxe1=10.99.0.0/24", "rxe2=10.99.1.0/24", "rxe3=10.99.1.0/24");
        GroupPlan plan = plan(profile(0, "h", nics), profile(1, "h", nics));
        Pairing pairing = pairing(plan, CONFIG);
        assertThat(pairing.mine()).containsExactly("rxe0:1", "rxe2:1");
        assertThat(pairing.theirs()).containsExactly("rxe1:1", "rxe3:1");
        EpConfig one = EpConfig.builder(Map.of(), Map.of())
                .set(IbrcKeys.PORTS.name(), "1")
                .set(IbrcKeys.QUEUE_PAIRS.name(), "3")
                .build();
        assertThat(pairing(plan, one)).isEqualTo(new Pairing(List.of("rxe0:1"), List.of("rxe1:1"), 3));
    }
}
