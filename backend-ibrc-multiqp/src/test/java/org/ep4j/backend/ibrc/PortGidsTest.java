package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.Check;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class PortGidsTest {
    private static final Gid LINK_LOCAL = new Gid(0, "fe80:0000:0000:0000:0202:03ff:fe04:0506", "RoCE v2", "eth0");
    private static final Gid IPV4 = new Gid(1, "0000:0000:0000:0000:0000:ffff:0a63:0001", "RoCE v2", "eth0");

    /** A GID of an interface of the host, seen in a container. */
    private static final Gid FOREIGN =
            new Gid(3, "0000:0000:0000:0000:0000:ffff:0a63:00fa", "RoCE v2", "ens7", "", true);

    private static Nic nic(String name, LinkLayer layer, List<List<Gid>> ports) {
        List<NicPort> all = new ArrayList<>();
        for (List<Gid> gids : ports) {
            all.add(new NicPort(all.size() + 1, NicPort.State.ACTIVE, layer, 100, 4096, 0, "eth0", gids));
        }
        return new Nic(
                0,
                name,
                Optional.empty(),
                PciId.UNKNOWN,
                NicFamily.MLX5,
                "mlx5_core",
                name,
                0,
                Optional.empty(),
                true,
                all);
    }

    @Test
    void aPortWithoutAUsableGidIsLeftOutAndTold() {
        List<Nic> nics =
                List.of(nic("mlx5_0", LinkLayer.ETHERNET, List.of(List.of(LINK_LOCAL, IPV4), List.of(LINK_LOCAL))));
        PortGids both = PortGids.of(nics, List.of("mlx5_0:1", "mlx5_0:2"), -1);
        assertThat(both.ports()).containsExactly("mlx5_0:1");
        assertThat(both.check().status()).isEqualTo(Check.Status.WARN);
        assertThat(both.check().detail())
                .startsWith("not used: mlx5_0:2 GID index 0")
                .contains("link-local; used: mlx5_0:1 GID index 1");
        assertThat(both.check().remedy()).contains("IPv4 address", "ep.nic.gid-index", "ep.nic.exclude");

        PortGids first = PortGids.of(nics, List.of("mlx5_0:1"), -1);
        assertThat(first.check().status()).isEqualTo(Check.Status.PASS);
        PortGids second = PortGids.of(nics, List.of("mlx5_0:2"), -1);
        assertThat(second.ports()).isEmpty();
        assertThat(second.check().status()).isEqualTo(Check.Status.FAIL);
        assertThat(PortGids.of(nics, List.of("mlx5_0:1"), 7).check().status()).isEqualTo(Check.Status.FAIL);
    }

    @Test
    void anAddressOfAnotherNamespaceIsNotSentFrom() {
        List<Nic> nics =
                List.of(nic("mlx5_0", LinkLayer.ETHERNET, List.of(List.of(FOREIGN, LINK_LOCAL), List.of(FOREIGN))));
        PortGids none = PortGids.of(nics, List.of("mlx5_0:1", "mlx5_0:2"), -1);
        assertThat(none.ports()).isEmpty();
        assertThat(none.check().status()).isEqualTo(Check.Status.FAIL);
        assertThat(none.check().detail()).contains("mlx5_0:2 GID index 3", "in another network namespace");
        for (String port : List.of("mlx5_0:1", "mlx5_0:2")) {
            assertThatThrownBy(() -> LocalPort.gidIndex(port, Verbs.LINK_ETHERNET, nics, -1))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContainingAll(port, "no GID to send from");
        }

        List<Nic> beside = List.of(nic("mlx5_0", LinkLayer.ETHERNET, List.of(List.of(FOREIGN, IPV4))));
        Gid later = new Gid(7, IPV4.address(), IPV4.type(), IPV4.netdev());
        List<Nic> behind = List.of(nic("mlx5_0", LinkLayer.ETHERNET, List.of(List.of(FOREIGN, later))));
        assertThat(PortGids.of(beside, List.of("mlx5_0:1"), -1).check().detail())
                .isEqualTo("mlx5_0:1 GID index 1 (10.99.0.1, RoCE v2, eth0)");
        assertThat(LocalPort.gidIndex("mlx5_0:1", Verbs.LINK_ETHERNET, behind, -1))
                .isEqualTo(7);
    }

    /** The user may know that the kernel lets this namespace send from it. */
    @Test
    void anEntryOfAnotherNamespaceThatTheSettingsNameIsTried() {
        List<Nic> nics = List.of(nic("mlx5_0", LinkLayer.ETHERNET, List.of(List.of(FOREIGN))));
        assertThat(PortGids.of(nics, List.of("mlx5_0:1"), 3).ports()).containsExactly("mlx5_0:1");
        assertThat(LocalPort.gidIndex("mlx5_0:1", Verbs.LINK_ETHERNET, nics, 3)).isEqualTo(3);
    }

    @Test
    void whereATableCannotBeReadTheSettingHelpsOnEthernetAndInfiniBandNeedsNone() {
        List<Nic> roce = List.of(nic("mlx5_0", LinkLayer.ETHERNET, List.of(List.of())));
        assertThat(PortGids.of(roce, List.of("mlx5_0:1"), -1).check().status()).isEqualTo(Check.Status.FAIL);
        assertThatThrownBy(() -> LocalPort.gidIndex("mlx5_0:1", Verbs.LINK_ETHERNET, roce, -1))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll("mlx5_0:1", "cannot be read", "set ep.nic.gid-index");
        assertThat(PortGids.of(roce, List.of("mlx5_0:1"), 3).ports()).containsExactly("mlx5_0:1");
        assertThat(LocalPort.gidIndex("mlx5_0:1", Verbs.LINK_ETHERNET, roce, 3)).isEqualTo(3);
        assertThat(LocalPort.gidIndex("other:1", Verbs.LINK_ETHERNET, roce, 3)).isEqualTo(3);

        List<Nic> infiniBand = List.of(nic("mlx5_0", LinkLayer.INFINIBAND, List.of(List.of())));
        assertThat(PortGids.of(infiniBand, List.of("mlx5_0:1"), -1).check().status())
                .isEqualTo(Check.Status.PASS);
        assertThat(LocalPort.gidIndex("mlx5_0:1", Verbs.LINK_INFINIBAND, infiniBand, -1))
                .isZero();
        assertThat(LocalPort.gidIndex("other:1", Verbs.LINK_INFINIBAND, infiniBand, -1))
                .isZero();
    }
}
