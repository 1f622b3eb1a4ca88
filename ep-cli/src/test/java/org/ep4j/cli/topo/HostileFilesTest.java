package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.ep4j.topology.model.TopologyException;
import org.ep4j.topology.read.Limits;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process of 64 MiB of heap refuses what would take much more, and says why. */
@Tag("all")
final class HostileFilesTest {
    private static final int MIB = 1 << 20;

    /** More than the heap. */
    private static final int LONG = 200 * MIB;

    @TempDir
    private Path folder;

    private final Map<Path, String> expected = new LinkedHashMap<>();

    /** Reads files, and prints what is said of each. */
    public static void main(String[] files) {
        for (String file : files) {
            try {
                MachineFile.read(Optional.of(Path.of(file)), Optional.empty());
                System.out.println(file + " is a machine");
            } catch (TopologyException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    @Test
    void smallMemoryIsEnoughForEveryRefusal() throws IOException, InterruptedException {
        archives();
        texts();
        xml();
        folders();
        assertThat(said()).containsExactlyElementsOf(lines());
    }

    private List<String> lines() {
        return expected.entrySet().stream()
                .map(file -> file.getKey() + file.getValue())
                .toList();
    }

    private List<String> said() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                HostileFilesTest.class.getName()));
        expected.keySet().forEach(file -> command.add(file.toString()));
        Path out = folder.resolve("out");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(out.toFile());
        // The heap is the one that is given here.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"));
        Process process = builder.start();
        try {
            assertThat(process.waitFor(9, TimeUnit.MINUTES)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        return Files.readAllLines(out);
    }

    private void archives() throws IOException {
        byte[] sparse = header("sys/a", 'S', 0);
        put(sparse, 386, "00000000000 00000000000 ");
        put(sparse, 483, "30000000000 ");
        sum(sparse);
        archive(
                "sparse",
                sparse,
                0,
                "",
                " has an entry \"sys/a\", which is a sparse file of 3221225472 bytes; pack the"
                        + " files again without --sparse (-S)");
        String tooLong = " has an entry whose header, name and PAX records together have more than " + Limits.HEADER
                + " bytes; pack the files again";
        archive("name", header("././@LongLink", 'L', LONG), LONG, "", tooLong);
        archive("pax", header("pax", 'x', LONG), LONG, LONG + " path=", tooLong);
        archive(
                "zeros",
                header("sys/zeros", '0', 2L << 30),
                2L << 30,
                "",
                " unpacks to more than " + Limits.UNPACKED
                        + " bytes; pack only files of /sys and /proc, as docs/reference/doctor.md shows");
        Path many = folder.resolve("many.tgz");
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(many))) {
            for (int i = 0; i < 3 * Limits.ENTRIES; i++) {
                out.write(header("sys/" + i, '0', 0));
            }
        }
        expected.put(
                many,
                " holds more than " + Limits.ENTRIES + " entries or " + Limits.KEPT
                        + " bytes of names and contents; pack only files of /sys and /proc, as docs/reference/doctor.md"
                        + " shows");
    }

    private void archive(String name, byte[] header, long size, String start, String message) throws IOException {
        Path file = folder.resolve(name + ".tgz");
        byte[] block = new byte[MIB];
        Arrays.fill(block, (byte) (name.equals("zeros") ? 0 : 'x'));
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
            out.write(header);
            byte[] first = block.clone();
            put(first, 0, start);
            for (long written = 0; written < size; written += MIB) {
                out.write(written == 0 ? first : block);
            }
        }
        expected.put(file, message);
    }

    private static byte[] header(String name, char kind, long size) {
        byte[] header = new byte[512];
        put(header, 0, name);
        put(header, 100, "0000644\0" + "0000000\0" + "0000000\0");
        put(header, 124, String.format("%011o 00000000000 ", size));
        header[156] = (byte) kind;
        put(header, 257, kind == 'x' ? "ustar\0" + "00" : "ustar  ");
        sum(header);
        return header;
    }

    private static void sum(byte[] header) {
        put(header, 148, " ".repeat(8));
        int sum = 0;
        for (byte value : header) {
            sum += value & 0xff;
        }
        put(header, 148, String.format("%06o\0", sum));
    }

    private static void put(byte[] bytes, int place, String text) {
        byte[] written = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(written, 0, bytes, place, written.length);
    }

    private void texts() throws IOException {
        text(
                "matrix",
                matrix(),
                ", line 1025: GPU1023 to GPU1022 is \"ODD\"; known are X, NV#, PIX, PXB, PHB, NODE, SYS");
        text("line", "GPU0 ".repeat(Limits.LINE), ", line 1: has more than 65536 characters, the limit for a line");
        text("lines", "x" + "\n".repeat(Limits.LINES), ": has 200001 lines; the limit for a text is 200000");
        text(
                "long",
                " ".repeat(Limits.TEXT) + "x",
                ": is larger than 8388608 bytes; descriptions of machines are smaller");
        text(
                "devices",
                IntStream.range(0, 90_000)
                        .mapToObj(i -> "hca_id: x" + i + "\nphys_port_cnt: 0\n")
                        .collect(Collectors.joining()),
                ", line 4097: more than 2048 devices");
        text(
                "gids",
                "hca_id: x\nphys_port_cnt: 1\nport: 1\nstate: PORT_ACTIVE\n"
                        + IntStream.range(0, 90_000)
                                .mapToObj(i -> "GID[" + i + "]: fe80::1, RoCE v2\n")
                                .collect(Collectors.joining()),
                ", line 1029: a port has more than 1024 GIDs");
    }

    private static String matrix() {
        String names = IntStream.range(0, Limits.GPUS).mapToObj(i -> "GPU" + i).collect(Collectors.joining("\t"));
        return names + "\n"
                + IntStream.range(0, Limits.GPUS)
                        .mapToObj(row -> "GPU" + row + "\t"
                                + IntStream.range(0, Limits.GPUS)
                                        .mapToObj(column -> row == column
                                                ? "X"
                                                : row == Limits.GPUS - 1 && column == row - 1 ? "ODD" : "NV18")
                                        .collect(Collectors.joining("\t")))
                        .collect(Collectors.joining("\n"));
    }

    private void xml() throws IOException {
        String open = "<system version='1'><cpu numaid='0'>";
        text(
                "attributes.xml",
                open + "<x a='' b='' c='' d='' e='' f=''/>".repeat(100_000),
                ", line 1: more than 300000" + " attributes");
        text("elements.xml", open + "<x/>".repeat(500_000), ", line 1: more than 60000 elements");
        text(
                "name.xml",
                open + "<nic><net name='" + "n".repeat(10 * MIB) + "'/></nic></cpu></system>",
                ": is larger than 8388608 bytes; descriptions of machines are smaller");
        text(
                "gpus.xml",
                open
                        + IntStream.range(0, 4000)
                                .mapToObj(i -> String.format("<pci busid='%04x:00:00.0'><gpu/></pci>%n", i))
                                .collect(Collectors.joining())
                        + "</cpu></system>",
                ", line 1025: more than 1024 GPUs");
    }

    private void text(String name, String text, String message) throws IOException {
        expected.put(Files.writeString(folder.resolve(name), text), message);
    }

    private void folders() throws IOException {
        for (int node = 0; node < 5000; node++) {
            Path place = Files.createDirectories(folder.resolve("kfd/topology/nodes/" + node));
            Files.writeString(place.resolve("properties"), "cpu_cores_count 0\nsimd_count 304\n");
        }
        expected.put(
                folder.resolve("kfd"), ": /sys/class/kfd/kfd/topology/nodes has 5000 entries; at most 1536 are read");
    }
}
