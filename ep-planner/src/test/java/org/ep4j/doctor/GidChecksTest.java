package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.NicPort;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class GidChecksTest {
    @TempDir
    private Path root;

    private FakeSystem roce(Gid... gids) {
        return FakeSystem.plain(root)
                .farNic("bnxt_re0", NicFamily.BNXT, FakeSystem.port(NicPort.State.ACTIVE, 400, gids));
    }

    @Test
    void theIndexThatWouldBeUsedIsSaid() {
        Check check = roce(FakeSystem.LINK_LOCAL, FakeSystem.ROCE_V1, FakeSystem.ROCE_V2)
                .check(DoctorCode.GID_INDEX);
        assertThat(check.status()).isEqualTo(Status.PASS);
        assertThat(check.detail()).isEqualTo("bnxt_re0:1 GID index 3 (10.0.0.1, RoCE v2, eth0)");
    }

    @ParameterizedTest
    @CsvSource({"0, FAIL, link-local", "1, WARN, RoCE v1", "7, FAIL, empty"})
    void anIndexThatIsSetToSomethingBadIsReportedWithTheOneToUse(int index, Status status, String why) {
        FakeSystem system = roce(FakeSystem.LINK_LOCAL, FakeSystem.ROCE_V1, FakeSystem.ROCE_V2);
        system.settings.put("ep.nic.gid-index", String.valueOf(index));
        Check check = system.check(DoctorCode.GID_INDEX);
        assertThat(check.status()).isEqualTo(status);
        assertThat(check.detail()).contains(why, "use GID index 3");
    }

    @Test
    void aPortWithoutAnyUsableEntryFails() {
        assertThat(roce(FakeSystem.LINK_LOCAL).check(DoctorCode.GID_INDEX).status())
                .isEqualTo(Status.FAIL);
    }

    @Test
    void aFabricWithIpv6AloneIsAWarningOfItsOwn() {
        FakeSystem system = roce(FakeSystem.LINK_LOCAL, FakeSystem.ROUTED_IPV6);
        assertThat(system.check(DoctorCode.IPV6_ONLY).status()).isEqualTo(Status.WARN);
        assertThat(system.check(DoctorCode.IPV6_ONLY).detail()).contains("GID index 2");
        assertThat(system.check(DoctorCode.GID_INDEX).status()).isEqualTo(Status.PASS);
    }

    private static Gid foreign(Gid gid) {
        return new Gid(gid.index(), gid.address(), gid.type(), "eth9", "", true);
    }

    /** An entry of another namespace is neither chosen nor counted, whatever its rank by the rules. */
    @Test
    void entriesOfOtherNamespacesOnAnOwnPortAreNotCounted() {
        FakeSystem ipv6 = roce(FakeSystem.ROUTED_IPV6, foreign(FakeSystem.ROCE_V2));
        assertThat(ipv6.check(DoctorCode.GID_INDEX).detail())
                .contains("GID index 2")
                .doesNotContain("eth9");
        assertThat(ipv6.check(DoctorCode.IPV6_ONLY).status())
                .as("the IPv4 address is of somebody else")
                .isEqualTo(Status.WARN);
    }

    @Test
    void portsOfOtherNamespacesAreNamedAsNotUsed() {
        FakeSystem beside = roce(FakeSystem.ROCE_V2)
                .farNic(
                        "bnxt_re1",
                        NicFamily.BNXT,
                        FakeSystem.port(NicPort.State.ACTIVE, 400, foreign(FakeSystem.ROUTED_IPV6)));
        Check check = beside.check(DoctorCode.GID_INDEX);
        assertThat(check.status()).isEqualTo(Status.PASS);
        assertThat(check.detail())
                .startsWith("bnxt_re0:1 GID index 3")
                .endsWith("; ports in other network namespaces, not used here: bnxt_re1:1");
        assertThat(beside.check(DoctorCode.IPV6_ONLY).status()).isEqualTo(Status.PASS);

        FakeSystem alone = FakeSystem.plain(root)
                .farNic(
                        "bnxt_re1",
                        NicFamily.BNXT,
                        FakeSystem.port(NicPort.State.ACTIVE, 400, foreign(FakeSystem.ROCE_V2)));
        assertThat(alone.check(DoctorCode.GID_INDEX).status()).isEqualTo(Status.NOT_APPLICABLE);
        assertThat(alone.check(DoctorCode.GID_INDEX).detail())
                .isEqualTo(
                        "no active port of a NIC with RDMA; ports in other network namespaces, not used here: bnxt_re1:1");
        assertThat(alone.check(DoctorCode.IPV6_ONLY).status()).isEqualTo(Status.NOT_APPLICABLE);
    }

    /** A NIC whose ports belong to different namespaces is used by its own one. */
    @Test
    void thePortOfAnotherNamespaceOnAnOwnNicIsNotUsed() {
        NicPort other = FakeSystem.port(NicPort.State.ACTIVE, 400, foreign(FakeSystem.ROCE_V2));
        FakeSystem system = FakeSystem.plain(root)
                .farNic(
                        "mlx5_0",
                        NicFamily.MLX5,
                        FakeSystem.port(NicPort.State.ACTIVE, 400, FakeSystem.ROCE_V2),
                        new NicPort(
                                2,
                                other.state(),
                                other.linkLayer(),
                                other.gigabitsPerSecond(),
                                other.activeMtu(),
                                other.lid(),
                                "",
                                other.gids()));
        Check check = system.check(DoctorCode.GID_INDEX);
        assertThat(check.status()).isEqualTo(Status.PASS);
        assertThat(check.detail())
                .startsWith("mlx5_0:1 GID index 3")
                .endsWith("; ports in other network namespaces, not used here: mlx5_0:2");
    }

    /** A container without an interface of any NIC may send from its host's interface, where the settings name the entry. */
    @Test
    void anEntryOfTheHostThatTheSettingsNameIsAWarning() {
        FakeSystem system = FakeSystem.plain(root)
                .farNic(
                        "bnxt_re0",
                        NicFamily.BNXT,
                        FakeSystem.port(NicPort.State.ACTIVE, 400, foreign(FakeSystem.ROCE_V2)));
        system.settings.put("ep.nic.gid-index", "3");
        Check check = system.check(DoctorCode.GID_INDEX);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail())
                .contains("bnxt_re0:1 GID index 3", "another network namespace")
                .doesNotContain("not used");
    }

    @Test
    void aPortWhoseEntriesAreAllEmptyFails() {
        FakeSystem system = FakeSystem.plain(root).farNic("bnxt_re0", NicFamily.BNXT, FakeSystem.withEmptyTable());
        Check check = system.check(DoctorCode.GID_INDEX);
        assertThat(check.status()).isEqualTo(Status.FAIL);
        assertThat(check.detail()).contains("bnxt_re0:1 has no GID");
    }

    @Test
    void aTableThatCannotBeReadBesideOneThatCanIsNotCountedAsWorking() {
        FakeSystem system =
                roce(FakeSystem.ROCE_V2).farNic("bnxt_re1", NicFamily.BNXT, FakeSystem.port(NicPort.State.ACTIVE, 400));
        Check check = system.check(DoctorCode.GID_INDEX);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).contains("bnxt_re1:1", "not known", "cannot be read", "ibv_devinfo");
        assertThat(check.detail()).doesNotContain("bnxt_re0");
    }

    @Test
    void anIndexThatIsSetForATableThatCannotBeReadIsNotCountedAsWorking() {
        FakeSystem system =
                roce(FakeSystem.ROCE_V2).farNic("bnxt_re1", NicFamily.BNXT, FakeSystem.port(NicPort.State.ACTIVE, 400));
        system.settings.put("ep.nic.gid-index", String.valueOf(FakeSystem.ROCE_V2.index()));
        assertThat(system.check(DoctorCode.GID_INDEX).status()).isEqualTo(Status.WARN);
    }

    @Test
    void aSourceWithoutGidsIsNotRunAndSaysHow() {
        Check check = roce().check(DoctorCode.GID_INDEX);
        assertThat(check.status()).isEqualTo(Status.NOT_RUN);
        assertThat(check.remedy()).contains("ibv_devinfo");
    }
}
