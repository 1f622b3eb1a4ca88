package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** KFD trees of real machines whose GPUs are partitioned. */
@Tag("verify")
final class RecordedMachinesTest {
    @TempDir
    private Path folder;

    @Test
    void everyPartitionOfEightGpusIsADeviceOfItsOwn() {
        Topology machine = machine("kfd-topo-mi300-cpx");

        // 32 on the first socket, and one of those on the second is not in the recording.
        assertThat(machine.gpus()).hasSize(63).extracting(Gpu::architecture).containsOnly("gfx942");
        assertThat(cards(machine)).hasSize(8).containsValue(List.of(0, 1, 2, 3, 4, 5, 6, 7));
        assertThat(machine.gpus().stream().filter(gpu -> gpu.numa() == 0)).hasSize(32);
        everyTwoPackagesAreLinkedOnce(machine);
    }

    @Test
    void fourPartitionsOfEightGpusAreThirtyTwoDevices() {
        Topology machine = machine("kfd-topology-parsing-mi308");

        assertThat(machine.gpus()).hasSize(32);
        assertThat(cards(machine)).hasSize(8);
        assertThat(cards(machine).values())
                .allSatisfy(functions -> assertThat(functions).containsExactly(0, 1, 2, 3));
        everyTwoPackagesAreLinkedOnce(machine);
    }

    /** All are in one hive: within a package at the rate of its fabric, else by the one xGMI link of their packages. */
    private static void everyTwoPackagesAreLinkedOnce(Topology machine) {
        List<GpuSwitch> packages = machine.only(GpuSwitch.class);
        assertThat(packages).hasSize(8);
        for (GpuSwitch one : packages) {
            for (GpuSwitch other : packages) {
                assertThat(machine.links(one, other))
                        .isEqualTo(one.equals(other) ? List.of() : List.of(new Link(LinkType.XGMI, 48, 1)));
            }
        }
        for (Gpu from : machine.gpus()) {
            Map<Part, Distance> reached = machine.distances(from);
            for (Gpu to : machine.gpus()) {
                if (from.index() < to.index()) {
                    boolean inside = card(from).equals(card(to));
                    assertThat(reached.get(to))
                            .isEqualTo(new Distance(PathType.NVL, inside ? 819.2 : 48, inside ? 2 : 3));
                }
            }
        }
    }

    private static Map<String, List<Integer>> cards(Topology machine) {
        return machine.gpus().stream()
                .collect(Collectors.groupingBy(
                        RecordedMachinesTest::card,
                        Collectors.mapping(gpu -> gpu.address().orElseThrow().function(), Collectors.toList())));
    }

    private static String card(Gpu gpu) {
        return gpu.address().orElseThrow().card().toString();
    }

    private Topology machine(String name) {
        Path archive = Corpus.required().resolve("sysfs/ROCm__k8s-device-plugin__" + name + ".tar.gz");
        RecordedTrees.unpack(archive, folder);
        return Topologies.read(folder);
    }
}
