package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.topology.Locality;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How many processors a host has, as each source reports it, and how many of them a GPU's rank has to itself. */
@Tag("verify")
final class ProcessorCountTest {
    private static final String TWO_GPUS = """
            <system version="1">
              <cpu numaid="0" affinity="0000ffff,ffffffff" arch="x86_64">
                <pci busid="0000:11:00.0" class="0x030200"><gpu dev="0" sm="90"/></pci>
              </cpu>
              <cpu numaid="1" affinity="ffff0000,00000000" arch="x86_64">
                <pci busid="0000:21:00.0" class="0x030200"><gpu dev="1" sm="90"/></pci>
              </cpu>
            </system>
            """;

    @Test
    void theSetsOfNodesAreCountedAndDividedBetweenGpus() {
        Topology machine = NcclTopology.read("two", TWO_GPUS);
        assertThat(machine.numaNodes()).extracting(NumaNode::processors).containsExactly(48, 16);
        assertThat(Localities.of(machine, machine.gpus().get(1), -1).processors())
                .isEqualTo(32);
    }

    @Test
    void withoutSetsTheNumberIsUnknown() {
        Topology machine = NcclTopology.read("two", TWO_GPUS.replaceAll(" affinity=\"[^\"]*\"", ""));
        assertThat(Localities.of(machine, machine.gpus().get(0), -1).processors())
                .isZero();
    }

    @Test
    void aProcessMayBeKeptToFewer() {
        Locality place = Localities.of(
                NcclTopology.read("two", TWO_GPUS),
                NcclTopology.read("two", TWO_GPUS).gpus().get(0),
                -1);
        assertThat(place.withAtMostProcessors(4).processors()).isEqualTo(4);
        assertThat(place.withAtMostProcessors(400).processors()).isEqualTo(32);
        assertThat(Locality.UNKNOWN.withAtMostProcessors(4).processors()).isEqualTo(4);
    }

    @Test
    void listsOfTheKernelAreCounted() {
        SysTree tree = new SysTree().nodes(1);
        tree.files.file("/sys/devices/system/node/node0/cpulist", "0-3,8,10-11\n");
        Topology machine = LinuxTopology.read("machine", tree.files, Map.of());
        assertThat(machine.numaNodes()).extracting(NumaNode::processors).containsExactly(7);
        tree.files.file("/sys/devices/system/node/node0/cpulist", "0-3;8\n");
        assertThat(LinuxTopology.read("machine", tree.files, Map.of()).numaNodes())
                .extracting(NumaNode::processors)
                .containsExactly(0);
    }
}
