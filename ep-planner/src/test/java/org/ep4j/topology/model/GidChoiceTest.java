package org.ep4j.topology.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.model.GidChoice.Verdict;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class GidChoiceTest {
    private static final String MAC = "fe80:0000:0000:0000:ba3f:d2ff:fe00:0001";
    private static final String IPV4 = "0000:0000:0000:0000:0000:ffff:0a63:0001";
    private static final String IPV6 = "fd93:16d3:59b6:012e:0000:0000:0000:0001";

    private static NicPort port(LinkLayer layer, Gid... gids) {
        return new NicPort(1, NicPort.State.ACTIVE, layer, 400, 4096, 0, "", List.of(gids));
    }

    private static Gid gid(int index, String address, String type) {
        return new Gid(index, address, type, "eth0");
    }

    @Test
    void aCloudNicUsesItsIpv4EntryOfRoceV2() {
        GidChoice choice = GidChoice.of(port(
                LinkLayer.ETHERNET,
                gid(0, MAC, "IB/RoCE v1"),
                gid(1, MAC, "RoCE v2"),
                gid(2, IPV4, "IB/RoCE v1"),
                gid(3, IPV4, "RoCE v2")));
        assertThat(choice.index()).isEqualTo(3);
        assertThat(choice.verdict()).isEqualTo(Verdict.FINE);
        assertThat(choice).hasToString("GID index 3 (10.99.0.1, RoCE v2, eth0)");
    }

    @Test
    void softRoceUsesEntry1BecauseEntry0IsMadeFromTheMacAddress() {
        assertThat(GidChoice.of(port(LinkLayer.ETHERNET, gid(0, MAC, "RoCE v2"), gid(1, IPV4, "RoCE v2")))
                        .index())
                .isEqualTo(1);
    }

    @Test
    void anIpv4AddressComesBeforeAnIpv6AddressWhateverTheType() {
        assertThat(GidChoice.of(port(LinkLayer.ETHERNET, gid(1, IPV6, "RoCE v2"), gid(2, IPV4, "IB/RoCE v1")))
                        .index())
                .isEqualTo(2);
    }

    @Test
    void withoutIpv4ItIsTheFirstRoceV2EntryThatIsRouted() {
        GidChoice choice = GidChoice.of(port(
                LinkLayer.ETHERNET,
                gid(0, MAC, "RoCE v2"),
                gid(4, IPV6, "IB/RoCE v1"),
                gid(5, IPV6, "RoCE v2"),
                gid(6, IPV6, "RoCE v2")));
        assertThat(choice.index()).isEqualTo(5);
        assertThat(choice.verdict()).isEqualTo(Verdict.IPV6);
    }

    @Test
    void withoutAnyRoutedEntryItIsEntry0WhichIsNotUsable() {
        GidChoice choice = GidChoice.of(port(LinkLayer.ETHERNET, gid(0, MAC, "RoCE v2")));
        assertThat(choice.index()).isZero();
        assertThat(choice.verdict()).isEqualTo(Verdict.LINK_LOCAL);
        assertThat(choice.verdict().usable()).isFalse();
    }

    @Test
    void infiniBandUsesEntry0ThoughItLooksLinkLocal() {
        GidChoice choice = GidChoice.of(port(LinkLayer.INFINIBAND, gid(0, MAC, "IB/RoCE v1")));
        assertThat(choice.index()).isZero();
        assertThat(choice.verdict()).isEqualTo(Verdict.FINE);
    }

    @ParameterizedTest
    @CsvSource({"fe80:0000:0012:0000:ba3f:d2ff:fe00:0001, 1", "fe80:0000:0000:0012:ba3f:d2ff:fe00:0001, 0"})
    void infiniBandUsesEntry1WhenThatHasARoutableId(String second, int index) {
        assertThat(GidChoice.of(port(LinkLayer.INFINIBAND, gid(0, MAC, ""), gid(1, second, "")))
                        .index())
                .isEqualTo(index);
    }

    @Test
    void efaUsesEntry0() {
        assertThat(GidChoice.of(port(LinkLayer.UNSPECIFIED, gid(0, MAC, ""))))
                .extracting(GidChoice::index, GidChoice::verdict)
                .containsExactly(0, Verdict.FINE);
    }

    @ParameterizedTest
    @CsvSource({"0, LINK_LOCAL", "2, ROCE_V1", "3, FINE", "4, IPV6", "5, EMPTY", "9, EMPTY"})
    void anIndexThatIsAskedForIsTakenAndJudged(int index, Verdict verdict) {
        NicPort port = port(
                LinkLayer.ETHERNET,
                gid(0, MAC, "RoCE v2"),
                gid(2, IPV4, "IB/RoCE v1"),
                gid(3, IPV4, "RoCE v2"),
                gid(4, IPV6, "RoCE v2"),
                gid(5, "0000:0000:0000:0000:0000:0000:0000:0000", "RoCE v2"));
        assertThat(GidChoice.of(port, index).index()).isEqualTo(index);
        assertThat(GidChoice.of(port, index).verdict()).isEqualTo(verdict);
        assertThat(GidChoice.of(port, -1)).isEqualTo(GidChoice.of(port));
    }

    @Test
    void aTableThatIsNotKnownIsNotJudged() {
        for (LinkLayer layer : LinkLayer.values()) {
            assertThat(GidChoice.of(port(layer)).verdict()).isEqualTo(Verdict.UNKNOWN);
            assertThat(GidChoice.of(port(layer), 3).verdict()).isEqualTo(Verdict.UNKNOWN);
        }
    }

    @Test
    void theOrderOfEntriesDoesNotMatter() {
        Gid[] gids = {
            gid(3, IPV4, "RoCE v2"), gid(0, MAC, "RoCE v2"), gid(2, IPV4, "IB/RoCE v1"), gid(4, IPV6, "RoCE v2")
        };
        Gid[] reversed = gids.clone();
        java.util.Collections.reverse(Arrays.asList(reversed));
        assertThat(GidChoice.of(port(LinkLayer.ETHERNET, gids)))
                .isEqualTo(GidChoice.of(port(LinkLayer.ETHERNET, reversed)));
    }
}
