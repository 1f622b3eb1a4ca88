package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Mutations;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.junit.jupiter.api.Tag;

/** Damaged texts and trees give a machine or a {@link TopologyException}: nothing else, and in time. */
@Tag("verify")
final class ReadersFuzzTest {
    /** Against endless loops only. */
    private static final Duration FOREVER = Duration.ofMinutes(2);

    private static final Topology MACHINE =
            LinuxTopology.read("machine", Machines.twoSockets().tree(), Map.of());

    private static final List<String> TEXTS = Stream.concat(
                    Stream.of(
                            Texts.NVIDIA_SMI,
                            Texts.NVIDIA_SMI_OLD,
                            Texts.NVIDIA_SMI_TABLE,
                            Texts.ROCM_SMI,
                            Texts.IBV_DEVINFO,
                            Texts.IBV_DEVINFO_VERBOSE),
                    Stream.of("nvidia-smi-topo", "rocm-smi-topo", "ibv-devinfo")
                            .flatMap(kind -> Corpus.files(kind).stream())
                            .map(Corpus::text))
            .toList();

    static String damagedText(Random random) {
        return Mutations.of(TEXTS, random);
    }

    @Property(tries = 3000, verify = 500)
    void damagedTextsGiveAMachineOrAnError(@ForAll("damagedText") String text) {
        assertTimeoutPreemptively(FOREVER, () -> {
            try {
                use(Topologies.read("damaged", text));
                use(Topologies.merge(MACHINE, "damaged", text));
            } catch (TopologyException e) {
                assertThat(e).hasMessageStartingWith("damaged");
            }
        });
    }

    @Property(tries = 2000, verify = 400)
    void damagedTreesGiveAMachine(@ForAll @Size(min = 1, max = 8) List<Long> seeds, @ForAll boolean instinct) {
        SysTree tree = instinct ? Machines.instinct() : Machines.twoSockets();
        seeds.forEach(seed -> damage(tree.files, new Random(seed)));

        assertTimeoutPreemptively(FOREVER, () -> use(LinuxTopology.read("damaged", tree.tree(), Map.of())));
    }

    /** Something goes, becomes another text, is what another file is, or leads somewhere else. */
    private static void damage(MemoryTree tree, Random random) {
        List<String> files = new ArrayList<>(tree.files.keySet());
        List<String> links = new ArrayList<>(tree.links.keySet());
        if (files.isEmpty() || links.isEmpty()) {
            return;
        }
        String file = files.get(random.nextInt(files.size()));
        String other = files.get(random.nextInt(files.size()));
        String link = links.get(random.nextInt(links.size()));
        String text = tree.files.getOrDefault(file, "");
        switch (random.nextInt(7)) {
            case 0 -> tree.files.remove(file);
            case 1 -> tree.links.remove(link);
            case 2 -> tree.file(file, Mutations.damage(text, List.of(text), random));
            case 3 -> tree.file(file, tree.files.getOrDefault(other, ""));
            case 4 -> tree.linked(link, tree.links.getOrDefault(links.get(random.nextInt(links.size())), link));
            case 5 -> tree.linked(link, link);
            default -> tree.linked(link, other.substring(0, other.lastIndexOf('/')));
        }
    }

    private static void use(Topology topology) {
        for (Gpu gpu : topology.gpus().stream().limit(2).toList()) {
            assertThat(Localities.of(topology, gpu, -1).gpus())
                    .isLessThanOrEqualTo(topology.gpus().size());
        }
        assertThat(Localities.ofHost(topology, 0, -1, -1).gpu()).isEqualTo(-1);
    }
}
