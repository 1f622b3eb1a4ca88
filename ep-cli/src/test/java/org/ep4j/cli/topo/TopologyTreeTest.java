package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.cli.report.Wrapped;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class TopologyTreeTest {
    @Test
    void aDeviceIsIndentedBelowItsSwitchWithAllThatIsKnown() {
        assertThat(TopologyTree.of(Machines.eightGpus(4)).lines())
                .contains("eight GPUs: 1 host, 2 NUMA nodes, 8 GPUs, 32 NICs", "host 0 node-1")
                .anyMatch(line ->
                        line.startsWith("├─ NUMA 0, x86_64, GenuineIntel, family 6 model 143, to NUMA 1 22 GB/s"))
                .anyMatch(line -> line.startsWith("│  ├─ PCI root pci0000:10"))
                .anyMatch(line -> line.startsWith("│  │     ├─ GPU0, 0000:19:00.0") && line.endsWith("sm_90,"))
                .contains("│  │     │    NVLink x18 370.8 GB/s, PCIe 48 GB/s")
                .anyMatch(line ->
                        line.startsWith("│  │     └─ rdma3, ") && line.contains("port 1 ACTIVE InfiniBand 100 Gb/s"))
                .contains("└─ NVSwitch, 8 GPUs, 18 links 370.8 GB/s each")
                .allMatch(line -> line.length() <= Wrapped.COLUMNS);
    }

    @Test
    void devicesWithoutAPlaceHangOnTheHost() {
        assertThat(TopologyTree.of(Machines.matrix()).lines()).contains("├─ GPU0", "└─ <mlx5 & \"one\">\u0001, MLX5");
    }

    @Test
    void aNicNearAGpuHangsOnItsNumaNodeInAMatrix() {
        assertThat(TopologyTree.of(Machines.matrixWithNuma()).lines())
                .containsSubsequence("├─ NUMA 0", "│  ├─ GPU0", "│  └─ near, MLX5", "└─ NUMA 1", "   └─ GPU1");
    }
}
