package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.topology.model.Host;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Tag("verify")
final class BranchTest {
    static List<Topology> machines() {
        return List.of(
                Machines.eightGpus(4),
                Machines.partitions(),
                Machines.cubeMesh(),
                Machines.twoHosts(),
                Machines.matrix(),
                Machines.matrixWithNuma(),
                Machines.empty());
    }

    @ParameterizedTest
    @MethodSource("machines")
    void everyPartIsInExactlyOnePlace(Topology machine) {
        List<Part> found = new ArrayList<>();
        for (Host host : machine.hosts()) {
            Branch.ofHost(machine, host.index())
                    .forEach(tree -> tree.flat().forEach(branch -> found.add(branch.part())));
        }
        assertThat(found).containsExactlyInAnyOrderElementsOf(Machines.placed(machine));
    }

    @Test
    void devicesHangOnTheirSwitchBelowTheirNumaNode() {
        Branch second = Branch.ofHost(Machines.eightGpus(4), 0).get(1);
        assertThat(second.part()).isInstanceOf(NumaNode.class);
        assertThat(second.children()).hasSize(4);
        Branch pci = second.children().get(0).children().get(0);
        assertThat(pci.children())
                .extracting(child -> child.part().name())
                .containsExactly("GPU4", "rdma16", "rdma17", "rdma18", "rdma19");
    }
}
