package org.ep4j.cli.topo;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.ep4j.cli.topo.RecordedTreeTest.file;
import static org.ep4j.cli.topo.RecordedTreeTest.link;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.Locality;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Damaged archives of recordings, one for each seed: a machine or a refusal in one line, each in bounded time and memory. The test of
 * this name in ep-api does the same with what needs no unpacking, by the same settings.
 */
final class SeededFuzzTest {
    private static final int INPUTS = Integer.getInteger("ep.fuzz.inputs", 1000);
    private static final long SEED = Long.getLong("ep.fuzz.seed", 1);

    /** Inputs in the build end when this is over, so that a slow machine is no failure. */
    private static final Duration SLICE =
            Integer.getInteger("ep.fuzz.inputs") == null ? Duration.ofSeconds(5) : Duration.ofDays(1);

    /** For one input, of processor time: a real machine takes some milliseconds. */
    private static final Duration MOST_TIME = Duration.ofSeconds(10);

    /** For one input, allocated in all. */
    private static final long MOST_BYTES = 2L << 30;

    private static final int BLOCK = 512;
    private static final int SUM = 148;
    private static final String TYPES = "0\0001234567LKxgSDMVNAX\377";

    /** A number in base 256 begins with a bit that no digit has. */
    private static final List<String> SIZES = List.of(
            "00000000000",
            "00000000777",
            "00000001000",
            "77777777777",
            "-0000000001",
            "\200\0\0\0\0\0\0\0\0\0\2",
            "\200\177\377\377\377\377\377\377\377\377\377",
            "\377\377\377\377\377\377\377\377\377\377\377",
            "sixty-four");

    private static final List<String> NAMES = List.of(
            "",
            ".",
            "/",
            "../../x",
            "a/".repeat(50),
            "x".repeat(100),
            "\033[31m\n\233",
            "././@LongLink",
            "machine/sys",
            "machine/sys/class/kfd/kfd/topology/nodes/1/properties",
            "machine/sys/class/kfd/kfd/topology/nodes/2/properties/below");

    @TempDir
    private Path folder;

    /** Two GPUs of AMD that are joined by xGMI, and a NIC; with names too long for a header in both of the usual forms. */
    private static byte[] archive() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes)) {
            file(tar, "machine/sys/devices/system/node/node0/cpulist", "0-7");
            function(tar, 1, "0x1002", "0x74a1", "0x120000");
            function(tar, 2, "0x1002", "0x74a1", "0x120000");
            function(tar, 3, "0x15b3", "0x1021", "0x020700");
            file(tar, "machine/sys/devices/pci0000:00/0000:03:00.0/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
            link(tar, "machine/sys/class/infiniband/mlx5_0", "../../devices/pci0000:00/0000:03:00.0/infiniband/mlx5_0");
            for (int node = 1; node < 3; node++) {
                String nodes = "machine/sys/class/kfd/kfd/topology/nodes/";
                file(
                        tar,
                        nodes + node + "/properties",
                        "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\n"
                                + "location_id " + (node << 8) + "\ndomain 0\nhive_id 15188982192727901047\n");
                file(
                        tar,
                        nodes + node + "/io_links/0/properties",
                        "type 11\nnode_from " + node + "\nnode_to " + (3 - node)
                                + "\nweight 15\nmin_bandwidth 64000\nmax_bandwidth 64000\nflags 1\n");
            }
            tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_GNU);
            file(tar, "machine/sys/" + "long/".repeat(30) + "file", "1");
            tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
            file(tar, "machine/proc/" + "long/".repeat(30) + "file", "1");
        }
        return bytes.toByteArray();
    }

    private static void function(TarArchiveOutputStream tar, int bus, String vendor, String device, String kind)
            throws IOException {
        String name = "0000:0" + bus + ":00.0";
        String folder = "machine/sys/devices/pci0000:00/" + name;
        file(tar, folder + "/vendor", vendor);
        file(tar, folder + "/device", device);
        file(tar, folder + "/class", kind);
        file(tar, folder + "/numa_node", "0");
        link(tar, "machine/sys/bus/pci/devices/" + name, "../../../devices/pci0000:00/" + name);
    }

    @Test
    @Timeout(value = 30, unit = TimeUnit.DAYS)
    void everyArchiveGivesAMachineOrARefusal() throws IOException {
        byte[] whole = archive();
        Path file = Files.write(folder.resolve("damaged.tar.gz"), gzip(whole));
        assertThat(read(file).gpus()).hasSize(2);
        assertThat(read(file).nics()).hasSize(1);

        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long end = System.nanoTime() + SLICE.toNanos();
        int refused = 0;
        int machines = 0;
        for (int i = 0; i < INPUTS && System.nanoTime() < end; i++) {
            long seed = SEED + i;
            Files.write(file, damaged(whole, new Random(seed)));
            long before = threads.getCurrentThreadAllocatedBytes();
            long begin = threads.getCurrentThreadCpuTime();
            try {
                read(file);
                machines++;
            } catch (TopologyException e) {
                assertThat(e.getMessage())
                        .as("seed %d", seed)
                        .startsWith(file.toString())
                        .hasLineCount(1);
                refused++;
            } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
                fail("seed " + seed + ": neither a machine nor a refusal", e);
            }
            assertThat(threads.getCurrentThreadAllocatedBytes() - before)
                    .as("bytes of seed %d", seed)
                    .isLessThan(MOST_BYTES);
            assertThat(Duration.ofNanos(threads.getCurrentThreadCpuTime() - begin))
                    .as("time of seed %d", seed)
                    .isLessThan(MOST_TIME);
        }
        assertThat(machines).as("machines; %d refused", refused).isPositive();
        assertThat(refused).as("refusals; %d machines", machines).isPositive();
    }

    /** Uses what is read. */
    private static Topology read(Path file) {
        Topology machine = MachineFile.read(Optional.of(file), Optional.empty());
        for (Gpu gpu : machine.gpus()) {
            assertThat(Locality.of(machine, gpu).nics())
                    .hasSizeGreaterThanOrEqualTo(machine.nearestNics(gpu).size());
        }
        return machine;
    }

    private static byte[] gzip(byte[] bytes) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(bytes);
        }
        return packed.toByteArray();
    }

    private static byte[] damaged(byte[] whole, Random random) throws IOException {
        byte[] tar = whole;
        for (int n = 1 + random.nextInt(6); n > 0; n--) {
            tar = damage(tar, random);
        }
        byte[] packed = gzip(tar);
        return switch (random.nextInt(16)) {
            case 0 -> cut(packed, random);
            case 1 -> changed(packed, random);
            default -> packed;
        };
    }

    /** One kind of damage; where it is to a header, the sum of that is right again in half of the cases. */
    private static byte[] damage(byte[] tar, Random random) {
        if (tar.length < BLOCK) {
            return tar;
        }
        int block = BLOCK * random.nextInt(tar.length / BLOCK);
        byte[] bytes = switch (random.nextInt(7)) {
            case 0 -> random.nextInt(4) == 0 ? cut(tar, random) : changed(tar, random);
            case 1 -> twice(tar, block, BLOCK * random.nextInt(tar.length / BLOCK));
            case 2 -> put(tar, block + 156, 1, String.valueOf(TYPES.charAt(random.nextInt(TYPES.length()))));
            case 3 -> put(tar, block + 124, 12, SIZES.get(random.nextInt(SIZES.size())));
            case 4 -> put(tar, block, 100, NAMES.get(random.nextInt(NAMES.size())));
            case 5 -> put(tar, block + 157, 100, NAMES.get(random.nextInt(NAMES.size())));
            default -> put(tar, block + 345, 155, NAMES.get(random.nextInt(NAMES.size())));
        };
        return random.nextBoolean() && block + BLOCK <= bytes.length ? summed(bytes, block) : bytes;
    }

    private static byte[] cut(byte[] bytes, Random random) {
        return Arrays.copyOf(bytes, random.nextInt(bytes.length));
    }

    private static byte[] changed(byte[] bytes, Random random) {
        byte[] changed = bytes.clone();
        changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
        return changed;
    }

    /** A block comes again in front of another. */
    private static byte[] twice(byte[] bytes, int block, int before) {
        byte[] longer = Arrays.copyOf(bytes, bytes.length + BLOCK);
        System.arraycopy(bytes, before, longer, before + BLOCK, bytes.length - before);
        System.arraycopy(bytes, block, longer, before, BLOCK);
        return longer;
    }

    /** Another value of a field of a header. */
    private static byte[] put(byte[] bytes, int at, int length, String value) {
        byte[] changed = bytes.clone();
        System.arraycopy(Arrays.copyOf(value.getBytes(ISO_8859_1), length), 0, changed, at, length);
        return changed;
    }

    private static byte[] summed(byte[] bytes, int block) {
        byte[] summed = put(bytes, block + SUM, 8, " ".repeat(8));
        int sum = 0;
        for (int i = block; i < block + BLOCK; i++) {
            sum += summed[i] & 0xff;
        }
        return put(summed, block + SUM, 7, String.format("%06o", sum));
    }
}
