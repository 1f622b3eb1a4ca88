package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class PathMatrixTest {
    @Test
    void nearestNicsAreMarkedAndFarOnesAreNot() {
        String text = PathMatrix.of(Machines.cubeMesh());
        assertThat(text.lines())
                .anyMatch(line -> line.matches("GPU0 +PHB\\* +SYS *"))
                .anyMatch(line -> line.matches("GPU7 +SYS +PHB\\* *"));
        assertThat(text).contains("nearest NICs of the GPU", "a PCIe host bridge", "the link between NUMA nodes");
        assertThat(text).doesNotContain("several PCIe switches");
    }

    @Test
    void narrowerNicsAndVirtualInterfacesAreNotMarkedAlsoWhereTheyAreAsNear() {
        Topology machine = Machines.sockets();
        assertThat(PathMatrix.of(machine).lines())
                .anyMatch(line -> line.matches("GPU +eno1 +eno2 +virbr0 *"))
                .anyMatch(line -> line.matches("GPU0 +PHB +PHB\\* +PHB *"));
    }

    @Test
    void gpuLinksAreCountedDirectlyAndThroughSwitches() {
        assertThat(PathMatrix.of(Machines.eightGpus(1)).lines())
                .anyMatch(line -> line.matches("GPU1 +NV18 +X +NV18.*"));
        assertThat(PathMatrix.of(Machines.cubeMesh()).lines())
                .anyMatch(line -> line.matches("GPU0 +X +NV2 +NV2 +NV2 +NV2 +NVB.*"));
        assertThat(PathMatrix.of(Machines.cubeMesh())).contains("NVB   two NVLinks or xGMI links, through another GPU");
    }

    @Test
    void manyNicsAreNumberedAndNamedBelow() {
        assertThat(PathMatrix.of(Machines.eightGpus(4))).contains("NIC31 rdma31");
    }

    @Test
    void manyGpusThatAreAllAlikeTakeOneLine() {
        assertThat(PathMatrix.of(Machines.partitions())).contains("every pair of the 64 GPUs: XGMI");
    }

    @Test
    void gpusOfSeveralHostsAreNamedWithTheirHost() {
        assertThat(PathMatrix.of(Machines.twoHosts()).lines())
                .anyMatch(line -> line.matches("1/GPU0 +NV18 +NV18 +NV18 +NV18 +X .*"));
    }

    @Test
    void aMatrixAsTextIsShownAsItWasStated() {
        assertThat(PathMatrix.of(Machines.matrix()).lines()).anyMatch(line -> line.matches("GPU0 +X +NV"));
    }

    @Test
    void withoutGpusThereIsNoMatrix() {
        assertThat(PathMatrix.of(Machines.empty())).contains("no GPU");
    }
}
