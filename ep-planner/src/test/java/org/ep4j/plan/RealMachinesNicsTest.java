package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.ep4j.plan.NicAssignment.Request;
import org.ep4j.plan.NicAssignment.Share;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.Corpus;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** NICs of the GPUs of real machines. */
@Tag("verify")
class RealMachinesNicsTest {
    private static List<Share> assign(String file) {
        Topology topology = Topologies.read(Corpus.required().resolve(file));
        return NicAssignment.assign(topology.gpus().stream()
                .filter(gpu -> gpu.host() == 0)
                .map(gpu -> request(topology, gpu))
                .toList());
    }

    private static Request request(Topology topology, Gpu gpu) {
        Locality locality = Localities.of(topology, gpu, -1);
        List<String> ports = locality.nics().stream()
                .filter(nic -> nic.family().rdma())
                .flatMap(RealMachinesNicsTest::ports)
                .toList();
        return new Request(locality, ports, false);
    }

    private static Stream<String> ports(NicReach nic) {
        return nic.ports().isEmpty()
                ? Stream.of(nic.name() + ":1")
                : nic.ports().stream().map(port -> nic.name() + ":" + port.number());
    }

    /** Machines on which no two GPUs have to share: how many ports each has, and those of the last GPU. */
    @ParameterizedTest
    @CsvSource({
        "hwloc-xml/ai-dynamo__nixl__p5.48xl-topo.xml, 4, rdmap198s0:1 rdmap199s0:1 rdmap200s0:1 rdmap201s0:1",
        "hwloc-xml/ai-dynamo__nixl__p5en.48xl-topo.xml, 2, rdmap162s0:1 rdmap163s0:1",
        "hwloc-xml/ai-dynamo__nixl__p6-b200.48xl-topo.xml, 1, rdmap133s0:1",
        "nccl-xml/oracle-quickstart__oci-hpc__H100-topology.xml, 2, mlx5_16:1 mlx5_17:1",
        "nccl-xml/Azure__azhpc-images__ndv4-topo.xml, 1, nic@0108:00:00.0:1",
        "nccl-xml/ROCm__rccl__topo_8p_940.xml, 1, mlx5_7:1",
        "nccl-xml/meta-pytorch__torchcomms__topo_8p_950.xml, 1, bnxt_re7:1",
    })
    void everyGpuHasItsOwnNics(String file, int each, String last) {
        List<Share> shares = assign(file);
        assertThat(shares)
                .hasSize(8)
                .allSatisfy(share -> assertThat(share.ports()).hasSize(each));
        assertThat(shares.stream().flatMap(share -> share.ports().stream())).doesNotHaveDuplicates();
        assertThat(shares.get(7).ports()).containsExactly(last.split(" "));
    }

    /** Machines with fewer NICs than GPUs: how many GPUs have the busiest port. */
    @ParameterizedTest
    @CsvSource({
        "nccl-xml/ROCm__rccl__topo_8p_rome_4n_1.xml, 4, 2",
        "nccl-xml/ROCm__rccl__topo_8p_rome_n2_2.xml, 2, 5",
        "nccl-xml/ROCm__rccl__topo_8p_ts1_n4_2.xml, 3, 3",
    })
    void noNicIdlesWhileOthersAreShared(String file, int used, int busiest) {
        List<String> ports =
                assign(file).stream().flatMap(share -> share.ports().stream()).toList();
        assertThat(ports).hasSize(8);
        assertThat(ports.stream().distinct()).hasSize(used);
        assertThat(ports.stream()
                        .distinct()
                        .mapToInt(port -> java.util.Collections.frequency(ports, port))
                        .max())
                .hasValue(busiest);
    }
}
