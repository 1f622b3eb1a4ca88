package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Mutations;
import org.ep4j.testing.Property;
import org.ep4j.topology.Locality;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;

/** Damaged files give a machine or a {@link TopologyException}: never another exception, never a reader that does not end. */
@Tag("verify")
class TopologyFuzzTest {
    /** Against endless loops only. */
    private static final Duration FOREVER = Duration.ofMinutes(2);

    private static final List<String> OWN = List.of(
            "nccl-hopper.xml",
            "nccl-blackwell-two-hosts.xml",
            "nccl-instinct.xml",
            "nccl-template.xml",
            "hwloc-1.xml",
            "hwloc-2.xml",
            "hwloc-3.xml");

    private static final List<String> NCCL = texts("nccl-");
    private static final List<String> HWLOC = texts("hwloc-");

    private final Set<Boolean> machines = new HashSet<>();

    static String damagedNcclFile(Random random) {
        return Mutations.of(NCCL, random);
    }

    static String damagedHwlocFile(Random random) {
        return Mutations.of(HWLOC, random);
    }

    @AfterEach
    void someWereMachinesAndSomeWereErrors() {
        assertThat(machines).containsExactlyInAnyOrder(true, false);
    }

    @Property(tries = 2000, verify = 150)
    void damagedTopologiesOfNcclGiveAMachineOrAnError(@ForAll("damagedNcclFile") String text) {
        machines.add(assertTimeoutPreemptively(FOREVER, () -> readAndUse(text, false)));
    }

    @Property(tries = 600, verify = 150)
    void damagedTopologiesOfHwlocGiveAMachineOrAnError(@ForAll("damagedHwlocFile") String text) {
        machines.add(assertTimeoutPreemptively(FOREVER, () -> readAndUse(text, true)));
    }

    /** True when it was a machine. */
    private static boolean readAndUse(String text, boolean hwloc) {
        Topology topology;
        try {
            topology = hwloc ? HwlocTopology.read("damaged.xml", text) : NcclTopology.read("damaged.xml", text);
        } catch (TopologyException e) {
            assertThat(e).hasMessageMatching("(?s)damaged\\.xml, line [0-9]+: .+");
            return false;
        }
        use(topology);
        return true;
    }

    /** A machine that was read is whole: everything that planning asks of it has an answer. */
    static void use(Topology topology) {
        for (Gpu gpu : topology.gpus().stream().limit(3).toList()) {
            List<Nic> nearest = topology.nearestNics(gpu);
            Locality around = Localities.of(topology, gpu, -1);
            assertThat(around.gpus()).isLessThanOrEqualTo(topology.gpus().size());
            assertThat(around.nics()).hasSizeGreaterThanOrEqualTo(nearest.size());
            for (Nic nic : nearest.stream().limit(3).toList()) {
                assertThat(topology.distance(nic, gpu)).isEqualTo(topology.distance(gpu, nic));
            }
        }
    }

    private static List<String> texts(String kind) {
        return Stream.concat(
                        OWN.stream().filter(name -> name.startsWith(kind)).map(TopologyFuzzTest::own),
                        Corpus.files(kind + "xml").stream().map(Corpus::text))
                .toList();
    }

    /** A small file of our own. */
    static String own(String name) {
        try (InputStream in = TopologyFuzzTest.class.getResourceAsStream(name)) {
            assertThat(in).as(name).isNotNull();
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
