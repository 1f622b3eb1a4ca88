package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.EpShape;
import org.ep4j.cli.RealMachineFiles;
import org.ep4j.cli.topo.MachineFile;
import org.ep4j.engine.gpu.PeerTables;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.Planner;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.Nic;
import org.ep4j.topology.Part;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is planned can be opened: the engine takes any mix of paths. Needs the files beside the repository. */
final class NoRefusedPlanTest {
    private static final long SEED = 20_261_124;
    private static final long NANOS = TimeUnit.SECONDS.toNanos(20);
    private static final List<PlannedBackend> BACKENDS = PlannedBackend.all();
    private static final EpShape SHAPE =
            EpShape.builder(64, 64, 2).maxTokens(4).maxLowLatencyTokens(2).build();

    private static List<Path> files() throws IOException {
        try (Stream<Path> all = Files.walk(RealMachineFiles.required())) {
            return all.filter(Files::isRegularFile)
                    .filter(file -> !file.toString().contains("expected"))
                    .sorted()
                    .toList();
        }
    }

    /** A file that says nothing of GPUs, or of a machine, is none to plan for. */
    private static Optional<Topology> machine(Path file) {
        try {
            return Optional.of(MachineFile.read(Optional.of(file), Optional.empty()))
                    .filter(machine -> !machine.gpus().isEmpty());
        } catch (EpException e) {
            return Optional.empty();
        }
    }

    /** Hides some NICs and all but one GPU at most. */
    private static Topology some(Topology machine, Random random) {
        Gpu kept = machine.gpus().get(random.nextInt(machine.gpus().size()));
        double hidden = random.nextInt(3) / 4.0;
        return TopologyCopy.some(
                        machine,
                        machine.source(),
                        part -> Optional.<Part>of(part)
                                .filter(any -> !(any instanceof Nic || any instanceof Gpu)
                                        || any.equals(kept)
                                        || random.nextDouble() >= hidden))
                .build();
    }

    private static Optional<EpPlan> plan(Topology machine, int hosts) {
        SimulatedRanks ranks = SimulatedRanks.of(machine, BACKENDS, SimulationOptions.AS_DESCRIBED.withHosts(hosts));
        try {
            return Optional.of(Planner.plan(
                    ranks.profiles(),
                    BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                    BackendChoice.AUTO));
        } catch (EpException e) {
            // The planner itself finds no path for some pair, and says so.
            return Optional.empty();
        }
    }

    private static Set<PathKind> kinds(EpPlan plan) {
        Set<PathKind> kinds = new HashSet<>();
        plan.groups().forEach(group -> kinds.add(group.example().offer().kind()));
        return kinds;
    }

    @Test
    @Timeout(120)
    void whatIsPlannedIsNotRefused() throws IOException {
        Random random = new Random(SEED);
        List<Path> files = files();
        List<String> refused = new ArrayList<>();
        Set<String> archives = new HashSet<>();
        int planned = 0;
        int mixed = 0;
        long end = System.nanoTime() + NANOS;
        for (int round = 0; round == 0 || (round < 4 && System.nanoTime() < end); round++) {
            for (Path file : files) {
                Optional<Topology> whole = machine(file);
                if (whole.isEmpty() || System.nanoTime() - end > NANOS) {
                    continue;
                }
                Topology machine = round == 0 ? whole.get() : some(whole.get(), random);
                int hosts = round == 0 ? 2 : 1 + random.nextInt(4);
                Optional<EpPlan> plan = plan(machine, hosts);
                if (plan.isEmpty()) {
                    continue;
                }
                planned++;
                if (file.toString().endsWith(".tar.gz")) {
                    archives.add(file.toString());
                }
                Set<PathKind> kinds = kinds(plan.get());
                mixed += kinds.contains(PathKind.HOST_POSTED) && kinds.contains(PathKind.DEVICE_POSTED) ? 1 : 0;
                for (int rank : new int[] {0, plan.get().ranks() - 1}) {
                    try {
                        PeerTables tables = PeerTables.of(SHAPE, plan.get(), rank);
                        assertThat(tables.size().symmetric()).isPositive();
                        int ranks = plan.get().ranks();
                        assertThat(tables.places()).allMatch(place -> place >= -1 && place < ranks);
                    } catch (EpException e) {
                        refused.add("%s of %d hosts, seed %d, round %d: %s"
                                .formatted(file.getFileName(), hosts, SEED, round, e.getMessage()));
                    }
                }
            }
        }
        System.out.println(planned + " plans, of which " + mixed + " post in two ways");
        assertThat(refused).isEmpty();
        assertThat(planned).as("plans").isGreaterThan(50);
        assertThat(archives).as("archives of recordings that were planned for").hasSize(2);
        assertThat(mixed).as("plans that post in two ways").isPositive();
    }
}
