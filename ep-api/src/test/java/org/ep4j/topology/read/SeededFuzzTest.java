package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Damaged descriptions of machines, one for each seed: a result or a refusal by {@link TopologyException}, each in bounded time and memory.
 *
 * <p>{@code -Dep.argLine="-Dep.fuzz.inputs=1000000"} runs a million of them, {@code -Dep.fuzz.seed} starts elsewhere; a failure names
 * the seed that repeats it.
 */
final class SeededFuzzTest {
    private static final int INPUTS = Integer.getInteger("ep.fuzz.inputs", 1500);
    private static final long SEED = Long.getLong("ep.fuzz.seed", 1);

    /** Inputs in the build end when this is over, so that a slow machine is no failure. */
    private static final Duration SLICE =
            Integer.getInteger("ep.fuzz.inputs") == null ? Duration.ofSeconds(15) : Duration.ofDays(1);

    /** For one input, of processor time: a real machine takes some milliseconds. */
    private static final Duration MOST_TIME = Duration.ofSeconds(10);

    /** For one input, allocated in all. */
    private static final long MOST_BYTES = 2L << 30;

    private static final List<String> OWN = List.of(
            "nccl-hopper.xml",
            "nccl-blackwell-two-hosts.xml",
            "nccl-instinct.xml",
            "nccl-template.xml",
            "hwloc-1.xml",
            "hwloc-2.xml",
            "hwloc-3.xml");

    private final Topology machine =
            LinuxTopology.read("machine", Machines.twoSockets().tree());
    private final List<String> texts = texts();

    private static List<String> texts() {
        List<String> all = new ArrayList<>(List.of(
                Texts.NVIDIA_SMI,
                Texts.NVIDIA_SMI_OLD,
                Texts.NVIDIA_SMI_TABLE,
                Texts.ROCM_SMI,
                Texts.IBV_DEVINFO,
                Texts.IBV_DEVINFO_VERBOSE));
        OWN.forEach(name -> all.add(TopologyFuzzTest.own(name)));
        Stream.of("nccl-xml", "hwloc-xml", "nvidia-smi-topo", "rocm-smi-topo", "ibv-devinfo")
                .flatMap(kind -> Corpus.files(kind).stream())
                .forEach(file -> all.add(Corpus.text(file)));
        return all;
    }

    @Test
    @Timeout(value = 30, unit = TimeUnit.DAYS)
    void everyInputGivesAMachineOrARefusal() {
        var threads = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        long end = System.nanoTime() + SLICE.toNanos();
        int refused = 0;
        int read = 0;
        for (int i = 0; i < INPUTS && System.nanoTime() < end; i++) {
            long seed = SEED + i;
            Random random = new Random(seed);
            long before = threads.getThreadAllocatedBytes(self);
            long begin = threads.getCurrentThreadCpuTime();
            try {
                one(random);
                read++;
            } catch (TopologyException e) {
                assertThat(e.getMessage())
                        .as("seed %d", seed)
                        .contains("damaged")
                        .hasLineCount(1);
                refused++;
            } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
                fail("seed " + seed + ": neither a machine nor a refusal", e);
            }
            assertThat(threads.getThreadAllocatedBytes(self) - before)
                    .as("bytes of seed %d", seed)
                    .isLessThan(MOST_BYTES);
            assertThat(Duration.ofNanos(threads.getCurrentThreadCpuTime() - begin))
                    .as("time of seed %d", seed)
                    .isLessThan(MOST_TIME);
        }
        assertThat(read).as("machines; %d refused", refused).isPositive();
        assertThat(refused).as("refusals; %d machines", read).isPositive();
    }

    private void one(Random random) {
        if (random.nextInt(6) == 0) {
            SysTree tree = random.nextBoolean() ? Machines.instinct() : Machines.twoSockets();
            for (int n = 1 + random.nextInt(8); n > 0; n--) {
                ReadersFuzzTest.damage(tree.files, random);
            }
            TopologyFuzzTest.use(Topologies.read("damaged", tree.tree()));
            return;
        }
        String text = texts.get(random.nextInt(texts.size()));
        boolean gentle = random.nextBoolean();
        for (int n = 1 + random.nextInt(6); n > 0; n--) {
            text = gentle ? Mutations.alter(text, random) : Mutations.damage(text, texts, random);
        }
        if (text.contains("hca_id")) {
            TopologyFuzzTest.use(Topologies.merge(machine, "damaged", text));
        }
        TopologyFuzzTest.use(Topologies.read("damaged", text));
    }
}
