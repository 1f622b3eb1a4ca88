package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What holds for every machine that an XML file describes: ours, and the real ones where they are at hand. */
@Tag("verify")
class TopologyRulesTest {
    private static final List<String> OWN = List.of(
            "nccl-hopper.xml",
            "nccl-blackwell-two-hosts.xml",
            "nccl-instinct.xml",
            "nccl-template.xml",
            "hwloc-1.xml",
            "hwloc-2.xml",
            "hwloc-3.xml");

    static Stream<Topology> machines() {
        Stream<Path> real = Stream.of("nccl-xml", "hwloc-xml").flatMap(kind -> Corpus.files(kind).stream());
        return Stream.concat(
                OWN.stream().map(name -> Topologies.read(name, TopologyFuzzTest.own(name))),
                real.map(Topologies::read));
    }

    @ParameterizedTest
    @MethodSource("machines")
    void distancesAreTheSameInBothDirections(Topology machine) {
        for (Gpu gpu : machine.gpus()) {
            for (Nic nic : machine.nics()) {
                assertThat(machine.distance(nic, gpu)).isEqualTo(machine.distance(gpu, nic));
            }
            for (Gpu other : machine.gpus()) {
                assertThat(machine.distance(gpu, other)).isEqualTo(machine.distance(other, gpu));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("machines")
    void namesAndNumbersAreUniqueOnAHost(Topology machine) {
        for (int i = 0; i < machine.hosts().size(); i++) {
            int host = i;
            List<Gpu> gpus =
                    machine.gpus().stream().filter(gpu -> gpu.host() == host).toList();
            assertThat(gpus).extracting(Gpu::name).doesNotHaveDuplicates();
            assertThat(gpus)
                    .extracting(Gpu::index)
                    .containsExactlyElementsOf(
                            IntStream.range(0, gpus.size()).boxed().toList());
            assertThat(machine.nics().stream().filter(nic -> nic.host() == host))
                    .extracting(Nic::name)
                    .doesNotHaveDuplicates();
        }
    }

    @ParameterizedTest
    @MethodSource("machines")
    void everyDeviceReachesTheNodesOfItsHostAndNoNicOfAnother(Topology machine) {
        for (Gpu gpu : machine.gpus()) {
            for (NumaNode node : machine.numaNodes()) {
                assertThat(machine.distance(gpu, node).isPresent()).isEqualTo(node.host() == gpu.host());
            }
            for (Nic nic : machine.nics()) {
                assertThat(machine.distance(gpu, nic).isPresent()).isEqualTo(nic.host() == gpu.host());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("machines")
    void gpusAreNvlinkApartWhereLinksOrASwitchJoinThem(Topology machine) {
        for (Gpu gpu : machine.gpus()) {
            for (Gpu other : machine.gpus()) {
                Optional<PathType> type = machine.distance(gpu, other).map(Distance::type);
                boolean joined = machine.neighbours(gpu).stream()
                        .filter(part -> gpuLink(machine.links(gpu, part)))
                        .anyMatch(part ->
                                part.equals(other) || (!(part instanceof Gpu) && gpuLink(machine.links(part, other))));
                assertThat(type.filter(found -> found == PathType.NVL).isPresent())
                        .as("%s to %s", gpu.name(), other.name())
                        .isEqualTo(joined && !gpu.equals(other));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("machines")
    void localitiesListTheNearestNicsFirst(Topology machine) {
        for (Gpu gpu : machine.gpus()) {
            List<NicReach> nics = Localities.of(machine, gpu, -1).nics();
            assertThat(nics).extracting(nic -> nic.distance().type()).isSorted();
            List<String> rdma = nics.stream()
                    .filter(nic -> nic.family().rdma())
                    .map(NicReach::name)
                    .toList();
            List<String> nearest =
                    machine.nearestNics(gpu).stream().map(Nic::name).toList();
            List<String> first =
                    rdma.isEmpty() ? nics.stream().map(NicReach::name).toList() : rdma;
            assertThat(nearest.isEmpty()).isEqualTo(first.isEmpty());
            assertThat(first.subList(0, nearest.size())).containsExactlyInAnyOrderElementsOf(nearest);
        }
    }

    private static boolean gpuLink(List<Link> links) {
        return links.stream().anyMatch(link -> link.type() == LinkType.NVLINK || link.type() == LinkType.XGMI);
    }

    @ParameterizedTest
    @MethodSource("machines")
    void aCopyHasTheSameDistances(Topology machine) {
        Topology copy = machine.copy(machine.source(), Optional::of).build();
        assertThat(copy.parts()).isEqualTo(machine.parts());
        for (Part part : machine.parts()) {
            assertThat(copy.distances(part)).isEqualTo(machine.distances(part));
        }
    }
}
