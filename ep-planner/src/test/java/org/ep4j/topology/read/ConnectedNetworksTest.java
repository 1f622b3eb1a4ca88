package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class ConnectedNetworksTest {
    private static final String HEADER =
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

    private static ConnectedNetworks table(String... rows) {
        MemoryTree files = new MemoryTree();
        files.file("/proc/net/route", HEADER + String.join("\n", rows) + "\n");
        return ConnectedNetworks.read(files);
    }

    private static String route(String netdev, String destination, String gateway, int flags, String mask) {
        return netdev + "\t" + destination + "\t" + gateway + "\t000" + flags + "\t0\t0\t0\t" + mask + "\t0\t0\t0  ";
    }

    @Test
    void anInterfaceIsConnectedToTheNetworkOfItsAddress() {
        ConnectedNetworks networks = table(
                route("rail0a", "0000630A", "00000000", 1, "00FFFFFF"),
                route("rail0b", "0000630A", "00000000", 1, "00FFFFFF"),
                route("rail1a", "0001630A", "00000000", 1, "00FFFFFF"),
                route("wide", "000010AC", "00000000", 1, "0000F0FF"));
        assertThat(networks.of("rail0a")).isEqualTo("10.99.0.0/24").isEqualTo(networks.of("rail0b"));
        assertThat(networks.of("rail1a")).isEqualTo("10.99.1.0/24");
        assertThat(networks.of("wide")).isEqualTo("172.16.0.0/12");
        assertThat(networks.of("other")).isEmpty();
    }

    @Test
    void aRouteThroughARouterReachesAnything() {
        ConnectedNetworks networks = table(
                route("eth0", "00000000", "0100A8C0", 3, "00000000"),
                route("eth0", "0000A8C0", "00000000", 1, "00FFFFFF"));
        assertThat(networks.of("eth0")).isEmpty();
    }

    @Test
    void aNetworkForAHostAndItsSwitchGivesNoNetwork() {
        ConnectedNetworks networks = table(
                route("eth0", "0401010A", "00000000", 1, "FEFFFFFF"),
                route("eth1", "1001010A", "00000000", 1, "F0FFFFFF"));
        assertThat(networks.of("eth0")).isEmpty();
        assertThat(networks.of("eth1")).isEqualTo("10.1.1.16/28");
    }

    @Test
    void severalNetworksAndOddTablesGiveNoNetwork() {
        ConnectedNetworks networks = table(
                route("eth0", "0000630A", "00000000", 1, "00FFFFFF"),
                route("eth0", "0001630A", "00000000", 1, "00FFFFFF"),
                route("eth1", "0002630A", "00000000", 1, "00FFFFFF"),
                "eth1\tnonsense\t0\t1\t0\t0\t0\t0",
                "short line");
        assertThat(networks.of("eth0")).isEmpty();
        assertThat(networks.of("eth1")).isEmpty();
        assertThat(ConnectedNetworks.read(new MemoryTree()).of("eth0")).isEmpty();
    }
}
