package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.ep4j.EpPath;
import org.ep4j.cli.RealMachineFiles;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Described real machines get the backends that their hardware calls for. Needs the files beside the repository. */
@Tag("verify")
final class RealMachinesTest {
    private static final List<PlannedBackend> BACKENDS = PlannedBackend.all();

    @ParameterizedTest
    @CsvSource({
        // file, GPUs of a host, backend on a host, backend across hosts, staged across hosts, NICs of a GPU
        "nccl-xml/oracle-quickstart__oci-hpc__H100-topology.xml, 8, ipc-nvlink, nvshmem-ibgda, false, 2",
        "hwloc-xml/ai-dynamo__nixl__p5.48xl-topo.xml, 8, ipc-nvlink, efa, false, 4",
        "hwloc-xml/ai-dynamo__nixl__p5en.48xl-topo.xml, 8, ipc-nvlink, efa, false, 2",
        "hwloc-xml/ai-dynamo__nixl__p6-b200.48xl-topo.xml, 8, ipc-nvlink, efa, false, 1",
        "nccl-xml/ROCm__rccl__topo_8p_940.xml, 8, rocm, ibrc-multiqp, false, 1",
        "nccl-xml/meta-pytorch__torchcomms__topo_8p_950.xml, 8, rocm, ibrc-multiqp, false, 1",
        "hwloc-xml/open-mpi__hwloc__nvidiaDGX2.xml, 16, ipc-nvlink, efa, true, 0",
        "nccl-xml/ROCm__rccl__topo_8p_90a.xml, 8, rocm, efa, true, 1",
        "nccl-xml/ROCm__rocm-systems__topo_8p_950_pcie.xml, 8, rocm, efa, true, 0",
    })
    void getTheirBackendsOn8AndOn32Hosts(
            String name, int gpus, String inside, String across, boolean staged, int nics) {
        var machine = Topologies.read(RealMachineFiles.required().resolve(name));
        for (int hosts : new int[] {8, 32}) {
            Objective objective = hosts == 8 ? Objective.LOW_LATENCY : Objective.HIGH_THROUGHPUT;
            SimulatedRanks ranks =
                    Machines.ranks(machine, BACKENDS, SimulatedRanks.Options.AS_DESCRIBED.withHosts(hosts));
            GroupPlan plan = Planner.plan(
                    ranks.profiles(),
                    BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                    new PlanOptions(BackendChoice.AUTO, NicChoice.AUTO, objective));
            assertThat(plan.ranks()).isEqualTo(gpus * hosts);
            for (int from = 0; from < gpus; from++) {
                assertThat(plan.nics(from)).as("NICs of GPU %d", from).hasSize(nics);
                for (int to = 0; to < plan.ranks(); to++) {
                    if (to == from) {
                        continue;
                    }
                    EpPath path = plan.path(from, to);
                    boolean same = to < gpus;
                    assertThat(path.backend())
                            .as("%d -> %d of %s", from, to, name)
                            .isEqualTo(same ? inside : across);
                    assertThat(path.staged())
                            .as("%d -> %d of %s", from, to, name)
                            .isEqualTo(!same && staged);
                }
            }
        }
    }
}
