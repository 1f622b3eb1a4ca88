package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files that somebody made to break the command: refused in one line with the name of the file, in little memory and time. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
final class HostileFilesTest {
    private static final String GPU =
            "<pci busid=\"%04x:%02x:00.0\" class=\"0x030200\"><gpu dev=\"%d\" rank=\"%d\" sm=\"90\"/></pci>";
    private static final String NIC = "<pci busid=\"0000:01:00.0\" class=\"0x020000\"><nic><net name=\"%s\" dev=\"0\""
            + " port=\"1\" speed=\"100000\"/></nic></pci>";

    @TempDir
    private Path folder;

    /** Runs the command once for each argument, in the JVM that the test starts with a small heap. */
    static final class Each {
        private Each() {}

        public static void main(String[] files) {
            for (String file : files) {
                StringWriter out = new StringWriter();
                StringWriter err = new StringWriter();
                long begin = System.nanoTime();
                int code = Main.run(new PrintWriter(out), new PrintWriter(err), "topo", "--json", "--file", file);
                long millis = Duration.ofNanos(System.nanoTime() - begin).toMillis();
                System.out.println(code + " " + err.toString().lines().count() + " " + millis + " "
                        + err.toString().strip());
            }
        }
    }

    @Test
    void areRefusedInOneLineWithAHeapOf64MiB() throws IOException, InterruptedException {
        Map<Path, String> reasons = new LinkedHashMap<>();
        reasons.put(xml("gpus.xml", gpus(4000)), "more than 1024 GPUs");
        reasons.put(xml("long-name.xml", NIC.formatted("x".repeat(7 << 20))), "has 7340032 characters");
        reasons.put(text("large.xml", " ".repeat(10 << 20)), "is larger than 8388608 bytes");
        reasons.put(xml("elements.xml", "<x a='1' b='2'/>".repeat(300_000)), "more than 40000 elements");
        reasons.put(xml("attributes.xml", attributes().repeat(5000)), "more than 200000 attributes");
        reasons.put(xml("deep.xml", "<pci>".repeat(100_000)), "nested deeper than 64");
        reasons.put(matrix(700), "the name of column 257 is \"GPU256\"");
        reasons.put(text("lines.txt", "a\n".repeat(2 << 20)), "lines; what tools print of a machine has at most 65536");
        reasons.put(text("line.txt", "GPU0 " + "a ".repeat(1 << 20)), "the line has 2097157 characters");
        reasons.put(
                text(
                        "devices.txt",
                        IntStream.range(0, 3000).mapToObj(i -> "hca_id: a" + i).collect(Collectors.joining("\n"))),
                "more than 2048 devices");
        reasons.put(
                text(
                        "fields.txt",
                        IntStream.range(0, 3000)
                                .mapToObj(i -> "f" + "_".repeat(i) + ": 1\n")
                                .limit(1000)
                                .collect(Collectors.joining("", "hca_id: a\n", ""))),
                "more than 256 fields of a");
        reasons.put(kfd(2000), "has 2000 entries; at most 1024 nodes");

        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                Each.class.getName()));
        reasons.keySet().forEach(file -> command.add(file.toString()));
        Path errors = folder.resolve("errors");
        Process process =
                new ProcessBuilder(command).redirectError(errors.toFile()).start();
        List<String> lines = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .toList();
        assertThat(process.waitFor()).as(Files.readString(errors)).isZero();
        assertThat(lines).as(Files.readString(errors)).hasSize(reasons.size());
        int at = 0;
        for (Map.Entry<Path, String> entry : reasons.entrySet()) {
            assertThat(lines.get(at))
                    .startsWith(ExitCodes.USAGE + " 1 ")
                    .contains(entry.getKey().toString(), entry.getValue());
            at++;
        }
    }

    @Test
    void pipesDevicesAndTheEmptyNameAreRefusedAtOnce() throws IOException, InterruptedException {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        Path machine = xml("machine.xml", gpus(2));
        for (String name : List.of(pipe.toString(), "/dev/zero")) {
            refused("neither a file nor a folder", "topo", "--file", name);
            refused("neither a file nor a folder", "plan", "--file", name);
            refused("neither a file nor a folder", "topo", "--file", machine.toString(), "--merge", name);
            refused("a pipe, a device or such", "doctor", "--root", folder.toString(), "--env", name);
        }
        refused("the name of the file is empty", "topo", "--file", "");
        refused("the name of the file is empty", "plan", "--file", "");
        refused("the name of the file is empty", "topo", "--file", machine.toString(), "--merge", "");
        refused("--env is \"\", which is a folder", "doctor", "--root", folder.toString(), "--env", "");
        String large = text("environ", "A=" + "x".repeat(6 << 20)).toString();
        refused("is larger than 6291456 bytes", "doctor", "--root", folder.toString(), "--env", large);
    }

    @Test
    void namesGiveNoOrdersToATerminal() throws IOException {
        String name = "ml\u009b31m&#13;&#10;line\u202e&#9;x";
        Path file = xml("control.xml", NIC.formatted(name) + gpus(2));
        Path drawing = folder.resolve("control.svg");
        String outputs = "";
        for (List<String> more : List.of(List.of("--svg", drawing.toString()), List.of("--json"))) {
            List<String> arguments = new ArrayList<>(List.of("topo", "--file", file.toString()));
            arguments.addAll(more);
            Ran ran = Ran.ep(arguments.toArray(String[]::new));
            assertThat(ran.code()).as(ran.err()).isZero();
            outputs += ran.out();
        }
        Ran planned = Ran.ep("plan", "--file", file.toString(), "--hosts", "2");
        assertThat(planned.code()).as(planned.err()).isZero();
        outputs += planned.out() + Files.readString(drawing);
        assertThat(outputs).contains("ml\\u009b31m").doesNotContain("\u009b", "\r", "\t", "\u202e", "\nline");
    }

    @Test
    void namesOfFilesGiveNoOrdersToATerminal() {
        refused(
                "a\\u009b31m\\u000ab",
                "topo",
                "--file",
                folder.resolve("a\u009b31m\nb").toString());
    }

    @Test
    void variablesOfARecordedProcessGiveNoOrdersToATerminal() throws IOException {
        Path port = Files.createDirectories(folder.resolve("recording/sys/class/infiniband/mlx5_0/ports/1"));
        Files.writeString(port.resolve("state"), "4: ACTIVE");
        Path environment = text("environ", "NCCL_IB_HCA==ml\u009b31m\u202e\n    FAIL     EP-X-001\0");
        List<String> arguments = new ArrayList<>(
                List.of("doctor", "--root", folder.resolve("recording").toString(), "--env", environment.toString()));
        String text = Ran.ep(arguments.toArray(String[]::new)).out();
        assertThat(text)
                .contains("NCCL_IB_HCA names ml\\u009b31m\\u202e\n")
                .doesNotContain("\u009b", "\u202e", "\n    FAIL     EP-X-001");
        arguments.add("--json");
        assertThat(Ran.ep(arguments.toArray(String[]::new)).out())
                .containsIgnoringCase("NCCL_IB_HCA names ml\\u009b31m\\u202e\\n")
                .doesNotContain("\u009b", "\u202e");
    }

    @Test
    void numbersThatNoMachineHasAreWarnedOf() throws IOException {
        Path file = text(
                "absurd.xml",
                "<system version='1'><cpu numaid='99999999999' arch='x86_64' vendor='GenuineIntel' familyid='2147483647'"
                        + " modelid='-99'>" + gpus(1) + "</cpu></system>");
        assertThat(Ran.ep("topo", "--file", file.toString()).out())
                .contains("warning: line 1: numaid \"99999999999\"")
                .contains("familyid \"2147483647\"", "modelid \"-99\"");
    }

    private static void refused(String reason, String... arguments) {
        Ran ran = Ran.ep(arguments);
        assertThat(ran.code()).as(String.join(" ", arguments)).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err().lines()).singleElement().asString().contains(reason);
        assertThat(ran.out()).isEmpty();
    }

    private static String gpus(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> GPU.formatted(1 + (i >> 8), i & 255, i, i))
                .collect(Collectors.joining());
    }

    private static String attributes() {
        return IntStream.range(0, 190).mapToObj(i -> "a" + i + "=''").collect(Collectors.joining(" ", "<x ", "/>"));
    }

    private Path matrix(int size) throws IOException {
        String names = IntStream.range(0, size).mapToObj(i -> "\tGPU" + i).collect(Collectors.joining());
        String rows = IntStream.range(0, size)
                .mapToObj(i -> "\nGPU" + i + "\tSYS".repeat(i) + "\tX" + "\tSYS".repeat(size - i - 1))
                .collect(Collectors.joining());
        return text("matrix.txt", names + rows + "\n");
    }

    private Path kfd(int nodes) throws IOException {
        Path tree = folder.resolve("kfd");
        for (int i = 0; i < nodes; i++) {
            Path node = Files.createDirectories(tree.resolve("nodes/" + i));
            Files.writeString(node.resolve("properties"), "simd_count 1\nlocation_id " + (i + 1) + "\n");
        }
        return tree;
    }

    private Path xml(String name, String inside) throws IOException {
        return text(
                name,
                "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\""
                        + " modelid=\"143\">" + inside + "</cpu></system>");
    }

    private Path text(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }
}
