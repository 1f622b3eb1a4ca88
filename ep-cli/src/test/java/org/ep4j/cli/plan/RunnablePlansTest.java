package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.RealMachineFiles;
import org.ep4j.cli.topo.MachineFile;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.spi.EpRuntime;
import org.ep4j.testing.Tier;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.Nic;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The engine refuses no plan of the planner, whatever parts of real machines are hidden. */
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
                all.sorted().forEach(files::add);
            }
        }
        return files;
    }

    /** With each GPU and NIC hidden as likely as not; with all of them in the first try. */
    private static Topology some(Topology machine, int attempt, Random random) {
        return TopologyCopy.some(
                        machine,
                        machine.source(),
                        part -> Optional.of(part)
                                .filter(one -> attempt == 0
                                        || !(one instanceof Gpu || one instanceof Nic)
                                        || random.nextBoolean()))
                .build();
    }

    @Test
    void theEngineTakesEveryPlanOfEveryMachine() throws IOException {
        int attempts = Tier.all() ? 40 : 2;
        int planned = 0;
        for (Path file : machines()) {
            Topology machine = MachineFile.read(Optional.of(file), Optional.empty());
            for (int attempt = 0; attempt < attempts; attempt++) {
                Random random = new Random(31L * file.getFileName().hashCode() + attempt);
                Topology some = some(machine, attempt, random);
                int hosts = 1 + random.nextInt(4);
                Objective objective = OBJECTIVES.get(random.nextInt(OBJECTIVES.size()));
                planned += check(file, attempt, some, hosts, objective) ? 1 : 0;
            }
        }
        assertThat(planned).as("machines that could be planned").isGreaterThan(attempts * 60);
    }

    private static boolean check(Path file, int attempt, Topology machine, int hosts, Objective objective) {
        EpPlan plan;
        try {
            SimulatedRanks ranks =
                    SimulatedRanks.of(machine, BACKENDS, SimulationOptions.AS_DESCRIBED.withHosts(hosts));
            plan = Planner.plan(
                    ranks.profiles(),
                    BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                    new PlanOptions(BackendChoice.AUTO, NicChoice.AUTO, objective));
        } catch (EpUnavailableException e) {
            assertThat(e).as("%s, attempt %d, %d hosts", file, attempt, hosts).hasMessageContaining("have no path");
            return false;
        }
        for (int rank = 0; rank < plan.ranks(); rank++) {
            assertThat(plan.mappedBy(rank))
                    .as("%s, attempt %d, %d hosts: backends whose memory rank %d maps", file, attempt, hosts, rank)
                    .hasSizeLessThan(2);
            assertThat(EpRuntime.installed().bufferSize(SHAPE, plan, rank).symmetric())
                    .as("%s, attempt %d, %d hosts, rank %d", file, attempt, hosts, rank)
                    .isPositive();
        }
        return true;
    }
}
