package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ProvidersTest {
    private final List<FabricInfo> all = new ArrayList<>();

    private void add(String provider, String fabric, String domain, String device, String address) {
        all.add(FabricInfo.parse(
                all.size(),
                String.join(
                        "\n",
                        "provider=" + provider,
                        "fabric=" + fabric,
                        "domain=" + domain,
                        "device=" + device,
                        "vendor=",
                        "address=" + address,
                        "speed=100000000000",
                        "mr_mode=0",
                        "mode=0",
                        "tx_size=2048",
                        "max_message=18446744073709551615")));
    }

    private List<String> usable(Map<String, String> variables) {
        EpConfig config = EpConfig.builder(Map.of(), variables).build();
        return Providers.usable(all, config).stream()
                .map(info -> info.provider() + " " + info.device() + " " + info.address())
                .toList();
    }

    @Test
    void oneInterfaceIsTakenWithItsIpv4Address() {
        add("tcp;ofi_rxm", "fe80::/64", "eth0", "", "ipv6:fe80");
        add("tcp;ofi_rxm", "10.0.0.0/8", "docker0", "", "ipv4:172.17.0.1");
        add("tcp;ofi_rxm", "10.0.0.0/8", "eth0", "", "ipv4:10.0.0.1");
        add("tcp;ofi_rxm", "127.0.0.1/32", "lo", "", "ipv4:127.0.0.1");
        add("shm", "shm", "shm", "", "");
        assertThat(usable(Map.of())).containsExactly("tcp;ofi_rxm eth0 ipv4:10.0.0.1");
        assertThat(usable(Map.of("UCCL_SOCKET_IFNAME", "lo"))).containsExactly("tcp;ofi_rxm lo ipv4:127.0.0.1");
        assertThat(usable(Map.of("EP_EFA_INTERFACE", "^docker,lo"))).containsExactly("tcp;ofi_rxm eth0 ipv4:10.0.0.1");
        assertThat(usable(Map.of("EP_EFA_INTERFACE", "=eth"))).isEmpty();
        assertThat(usable(Map.of("EP_EFA_PROVIDER", "shm"))).containsExactly("shm shm ");
    }

    @Test
    void loopbackIsTakenWhereThereIsNothingElse() {
        add("tcp", "127.0.0.1/32", "lo", "", "ipv4:127.0.0.1");
        assertThat(usable(Map.of())).hasSize(1);
    }

    @Test
    void nicsThatDoTheWorkThemselvesComeFirst() {
        add("tcp;ofi_rxm", "net", "eth0", "", "ipv4:10.0.0.1");
        add("tcp", "net", "eth0", "", "ipv4:10.0.0.1");
        add("verbs;ofi_rxm", "net", "mlx5_0", "mlx5_0", "ipv4:10.0.0.2");
        add("efa", "efa-direct", "rdmap0s6-rdm", "rdmap0s6", "");
        add("efa", "efa", "rdmap0s6-rdm", "rdmap0s6", "");
        add("efa", "efa", "rdmap1s6-rdm", "", "");
        assertThat(usable(Map.of()))
                .containsExactly(
                        "efa rdmap0s6 ",
                        "efa rdmap1s6 ",
                        "efa-direct rdmap0s6 ",
                        "tcp eth0 ipv4:10.0.0.1",
                        "tcp;ofi_rxm eth0 ipv4:10.0.0.1");
        assertThat(usable(Map.of("EP_EFA_PROVIDER", "efa-direct"))).containsExactly("efa-direct rdmap0s6 ");
        assertThat(usable(Map.of("EP_EFA_PROVIDER", "verbs"))).containsExactly("verbs;ofi_rxm mlx5_0 ipv4:10.0.0.2");
        assertThat(usable(Map.of("EP_EFA_PROVIDER", "tcp"))).hasSize(2);
        assertThat(usable(Map.of("EP_EFA_PROVIDER", "tcp;ofi_rxm"))).hasSize(1);
        assertThat(usable(Map.of("EP_EFA_PROVIDER", "opx"))).isEmpty();
    }

    @Test
    void whoAsksForWhatIsNotThereIsToldWhatIs() {
        add("tcp", "net", "eth0", "", "ipv4:10.0.0.1");
        EpConfig config =
                EpConfig.builder(Map.of(), Map.of("EP_EFA_PROVIDER", "opx")).build();
        assertThat(EfaProbe.noProvider(all, config)).satisfies(check -> {
            assertThat(check.code()).isEqualTo("EP-EFA-003");
            assertThat(check.detail()).contains("ep.efa.provider=opx matches no", "available: tcp");
            assertThat(check.remedy()).contains("ep.efa.provider", "FI_PROVIDER");
        });
    }

    @Test
    void sizesBeyondLongAreTheLargest() {
        add("tcp", "net", "eth0", "", "ipv4:10.0.0.1");
        assertThat(all.get(0).longestMessage()).isPositive();
        assertThat(all.get(0).writes()).isEqualTo(2048);
        assertThat(all.get(0).gigabitsPerSecond()).isEqualTo(100);
    }

    @Test
    void whatTheLoaderSaysBecomesAReasonAndARemedy() {
        UnsatisfiedLinkError absent =
                new UnsatisfiedLinkError("libfabric.so.1: cannot open shared object file: No such file or directory");
        assertThat(FabricLibrary.JNI.missing(absent, true)).satisfies(missing -> {
            assertThat(missing).hasMessageContaining("libfabric.so.1");
            assertThat(missing.remedy()).contains("libfabric1", "/opt/amazon/efa");
        });
        UnsatisfiedLinkError older = new UnsatisfiedLinkError("/lib/libc.so.6: version GLIBC_2.99 not found");
        assertThat(FabricLibrary.JNI.missing(older, true).remedy()).contains("libfabric-dev");
        UnsatisfiedLinkError nowhere = new UnsatisfiedLinkError("no jniEp4jLibfabric in java.library.path");
        assertThat(FabricLibrary.JNI.missing(nowhere, false)).hasMessageContaining("built without its JNI library");
        UncheckedIOException gone = new UncheckedIOException(new NoSuchFileException("/cache/libjniEp4jLibfabric.so"));
        assertThat(FabricLibrary.JNI.missing(gone, true)).satisfies(missing -> {
            assertThat(missing).hasMessageContaining("/cache/libjniEp4jLibfabric.so");
            assertThat(missing.remedy()).contains("org.bytedeco.javacpp.cachedir");
        });
    }
}
