package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class TopologyJsonTest {
    private static JsonNode json(Topology machine) {
        return JsonMapper.builder().build().readTree(TopologyJson.of(machine));
    }

    @ParameterizedTest
    @MethodSource("org.ep4j.cli.topo.BranchTest#machines")
    void idsAreUniqueAndLinksAndDistancesReferToThem(Topology machine) {
        JsonNode json = json(machine);
        Set<String> ids = new HashSet<>();
        for (String kind : new String[] {"numaNodes", "hostBridges", "pciSwitches", "gpuSwitches", "gpus", "nics"}) {
            json.get(kind)
                    .forEach(part ->
                            assertThat(ids.add(part.get("id").asString())).isTrue());
        }
        assertThat(ids).hasSize(machine.parts().size());
        json.get("links")
                .forEach(link -> assertThat(ids)
                        .contains(link.get("a").asString(), link.get("b").asString()));
        json.get("distances")
                .forEach(distance -> assertThat(ids)
                        .contains(
                                distance.get("from").asString(),
                                distance.get("to").asString()));
    }

    @Test
    void theFieldsOfAGpuAreStable() {
        JsonNode gpu = json(Machines.eightGpus(1)).get("gpus").get(0);
        assertThat(gpu.propertyNames())
                .containsExactly(
                        "id",
                        "host",
                        "index",
                        "name",
                        "address",
                        "pci",
                        "vendor",
                        "architecture",
                        "model",
                        "numa",
                        "gpuDirect",
                        "clique",
                        "card",
                        "nearestPath",
                        "nearestNics");
        assertThat(gpu.get("nearestPath").asString()).isEqualTo("PIX");
        assertThat(gpu.get("nearestNics").get(0).asString()).isEqualTo("host0/nic/rdma0");
    }

    @Test
    void narrowerNicsAndVirtualInterfacesAreNotAmongTheNearest() {
        JsonNode gpu = json(Machines.sockets()).get("gpus").get(0);
        assertThat(gpu.get("nearestPath").asString()).isEqualTo("PHB");
        assertThat(gpu.get("nearestNics").valueStream().map(JsonNode::asString)).containsExactly("host0/nic/eno2");
    }

    @Test
    void whatTheReaderWarnedOfIsThere() {
        assertThat(json(Machines.matrix()).get("warnings").get(0).asString()).isEqualTo("a line was odd");
    }
}
