package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.EpEngine;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.RealMachineFiles;
import org.ep4j.cli.topo.MachineFile;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.testing.Tier;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every machine has a plan, and the engine refuses none, whatever parts of real machines are hidden: sockets reach all ranks. */
@Tag("verify")
final class RunnablePlansTest {
    private static final List<PlannedBackend> BACKENDS = PlannedBackend.all();
    private static final List<Objective> OBJECTIVES = List.of(Objective.values());
    private static final EpShape SHAPE =
            EpShape.builder(256, 64, 4).maxTokens(32).maxLowLatencyTokens(8).build();

    private static List<Path> machines() throws IOException {
        Path folder = RealMachineFiles.required();
        List<Path> files = new ArrayList<>();
        for (String kind : List.of("hwloc-xml", "nccl-xml", "nvidia-smi-topo", "rocm-smi-topo", "sysfs")) {
            try (Stream<Path> all = Files.list(folder.resolve(kind))) {
                List<Path> found = all.sorted().toList();
                assertThat(found).as(kind).isNotEmpty();
                files.addAll(found);
            }
        }
        return files;
    }

    /** With each GPU and NIC hidden as likely as not; with all of them in the first try. */
    private static Topology some(Topology machine, int attempt, Random random) {
        return machine.copy(
                        machine.source(),
                        part -> Optional.of(part)
                                .filter(one -> attempt == 0
                                        || !(one instanceof Gpu || one instanceof Nic)
                                        || random.nextBoolean()))
                .build();
    }

    @Test
    void theEngineTakesAPlanOfEveryMachine() throws IOException {
        int attempts = Tier.all() ? 40 : 2;
        for (Path file : machines()) {
            Topology machine = MachineFile.read(Optional.of(file), Optional.empty());
            for (int attempt = 0; attempt < attempts; attempt++) {
                Random random = new Random(31L * file.getFileName().hashCode() + attempt);
                Topology some = some(machine, attempt, random);
                int hosts = 1 + random.nextInt(4);
                Objective objective = OBJECTIVES.get(random.nextInt(OBJECTIVES.size()));
                check(some, hosts, objective, file + ", attempt " + attempt);
            }
        }
    }

    /** GPUs whose memory a NIC reaches post to each other; paths of the others are staged in host memory, and host threads post. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "openpmix__prrte__turin-4gpu.xml",
                "openpmix__prrte__turin-4gpu-nvml.xml",
            })
    void machinesWithNicsThatReachSomeGpusAloneArePlanned(String name) {
        Path file = RealMachineFiles.required().resolve("hwloc-xml").resolve(name);
        reachesSomeGpusAlone(MachineFile.read(Optional.of(file), Optional.empty()), name);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 6})
    void aMatrixWithNicsThatReachSomeGpusAloneIsPlanned(int gpus) {
        String names = IntStream.range(0, gpus).mapToObj(gpu -> "GPU" + gpu).collect(Collectors.joining("\t"));
        StringBuilder text = new StringBuilder("\t" + names + "\tmlx5_0\n");
        for (int row = 0; row < gpus; row++) {
            text.append("GPU").append(row);
            for (int column = 0; column < gpus; column++) {
                text.append(row == column ? "\tX" : "\tNODE");
            }
            text.append(row % 3 == 1 ? "\tPIX\n" : "\tNODE\n");
        }
        reachesSomeGpusAlone(Topologies.read("matrix", text.toString()), gpus + " GPUs");
    }

    private static void reachesSomeGpusAlone(Topology machine, String name) {
        for (Objective objective : OBJECTIVES) {
            check(machine, 1, objective, name);
            GroupPlan plan = check(machine, 2, objective, name);
            int gpus = plan.ranks() / 2;
            Set<EpPath.Kind> across = IntStream.range(0, gpus * gpus)
                    .mapToObj(pair -> plan.pathKind(pair / gpus, gpus + pair % gpus))
                    .collect(Collectors.toSet());
            if (objective != Objective.LOW_LATENCY && plan.backends().contains("efa")) {
                // Inside a host, sockets can take less time for large messages than a NIC that many GPUs share.
                assertThat(across).as(name).containsExactly(EpPath.Kind.HOST_POSTED);
                assertThat(plan.paths().stream().flatMap(path -> path.rejected().stream()))
                        .as("%s: why GPUs that could post do not", name)
                        .anyMatch(why -> why.contains("a GPU cannot combine device-posted paths with host-posted"));
            } else {
                assertThat(across)
                        .as(name)
                        .containsExactlyInAnyOrder(EpPath.Kind.DEVICE_POSTED, EpPath.Kind.HOST_POSTED);
            }
        }
    }

    /** Where kernels post, NICs over which host threads post reach the memory of the GPU. */
    private static void checkReached(GroupPlan plan, int rank, String where) {
        Set<String> near = plan.profiles().get(rank).locality().nics().stream()
                .filter(nic -> nic.family().rdma() && nic.distance().type().gpuDirect())
                .map(NicReach::name)
                .collect(Collectors.toSet());
        IntStream.range(0, plan.pathKinds(rank).contains(EpPath.Kind.DEVICE_POSTED) ? plan.ranks() : 0)
                .mapToObj(peer -> plan.path(rank, peer))
                .filter(path -> path.kind() == EpPath.Kind.HOST_POSTED)
                .forEach(path -> assertThat(path.nics())
                        .as("%s, %s", where, path)
                        .isNotEmpty()
                        .allMatch(port -> near.contains(port.substring(0, port.indexOf(':')))));
    }

    private static GroupPlan check(Topology machine, int hosts, Objective objective, String name) {
        String where = name + ", " + hosts + " hosts, " + objective;
        SimulatedRanks ranks = Machines.ranks(machine, BACKENDS, SimulatedRanks.Options.AS_DESCRIBED.withHosts(hosts));
        GroupPlan plan;
        try {
            plan = Planner.plan(
                    ranks.profiles(),
                    BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                    new PlanOptions(BackendChoice.AUTO, NicChoice.AUTO, objective));
        } catch (EpUnavailableException e) {
            throw new AssertionError("there is no plan of " + where, e);
        }
        for (int rank = 0; rank < plan.ranks(); rank++) {
            assertThat(plan.mappedBy(rank))
                    .as("%s: backends whose memory rank %d maps", where, rank)
                    .hasSizeLessThan(2);
            assertThat(EpEngine.installed().bufferSize(SHAPE, plan, rank).symmetricBytes())
                    .as("%s, rank %d", where, rank)
                    .isPositive();
            checkReached(plan, rank, where);
        }
        return plan;
    }
}
